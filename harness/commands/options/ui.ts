/** `svcnet ui` on the command line. */
import type { UiFlags } from '../ui.ts';
import { type ClusterCommand, type RunCommand, whole } from './values.ts';

const PORT = { min: 1024, max: 65_535 } as const;

export function addUi(about: ClusterCommand, run: RunCommand): void {
  about('ui', 'serve a live web page of a running cluster: ring, chunks, figures, balances, logs')
    .option('--port <port>', 'port of the page (default: a free port)', whole(PORT.min, PORT.max))
    .option('--open', 'open the page in the browser')
    .addHelpText(
      'after',
      `
The page is served on loopback until Ctrl-C. Its URL includes a token: anyone who has the URL can view the page. It never
changes the cluster, and queries the nodes only while a page is open. To see single chunks, let the nodes record chunk
events:
  svcnet up --trace
  svcnet ui --open`,
    )
    .action((flags: UiFlags) => run(flags, async (f, c) => (await import('../ui.ts')).ui(f, c)));
}
