import { defineScenario } from 'svcnet/scenario';
import { SILENT_CLUSTER, SILENT_PARAMETERS, uploadToSilent } from '../steps/silent-neighbourhood.ts';

export default defineScenario({
  name: 'bee-5208',
  group: 'durability',
  about:
    'Makes deferred uploads to a neighbourhood whose only node hangs: what the tag counts as synced must be there once it answers.',
  parameters: SILENT_PARAMETERS,
  needs: { nodes: 4, capabilities: ['pause'] },
  cluster: SILENT_CLUSTER,
  timeoutMs: 900_000,
  run: (context) => uploadToSilent(context, 'deferred'),
});
