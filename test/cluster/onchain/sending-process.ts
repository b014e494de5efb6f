/** Pays the payee of a number, and kills itself at a step. Arguments: store, endpoint, step, number. */
import { openSending } from './sending.ts';

/** The test's own deadline is the one that counts. */
const PATIENCE_MS = 120_000;

const [path = '', endpoint = '', last = '', number = ''] = process.argv.slice(2);
let steps = 0;
await using sending = await openSending(path, endpoint, () => {
  if (++steps === Number(last)) process.kill(process.pid, 'SIGKILL');
});
sending.transactions.start();
await sending.pay(Number(number), AbortSignal.timeout(PATIENCE_MS));
