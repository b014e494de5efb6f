import { defineScenario } from 'svcnet/scenario';
import { SILENT_CLUSTER, SILENT_PARAMETERS, uploadToSilent } from '../steps/silent-neighbourhood.ts';

export default defineScenario({
  name: 'bee-5400',
  group: 'durability',
  about:
    'Uploads chunks to a neighbourhood whose only node hangs: each must be refused, or be there once the node answers again.',
  parameters: SILENT_PARAMETERS,
  needs: { nodes: 4, capabilities: ['pause'] },
  cluster: SILENT_CLUSTER,
  timeoutMs: 900_000,
  run: (context) => uploadToSilent(context, 'direct'),
});
