/** Needs Docker. */
import { someScenariosPass } from '../cluster/scenarios/catalogue.ts';

// Their containers are gone by the end.
someScenariosPass('docker', ['smoke', 'upload', 'retrieval', 'cheques', 'pss', 'partition-and-heal'], {
  logs: ['chain.log', 'node-0.log'],
});
