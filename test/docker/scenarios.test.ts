/** Scenarios on a cluster of containers. Needs Docker. */
import { someScenariosPass } from '../cluster/scenarios/catalogue.ts';

// The containers are gone by the end, and their output is kept with the report.
someScenariosPass('docker', ['smoke', 'upload', 'retrieval', 'cheques', 'pss', 'partition-and-heal'], {
  logs: ['chain.log', 'node-0.log'],
});
