/** Downloads data that was uploaded before, one piece in each iteration, and compares it. */
import { download } from './lib/downloads.js';

export default async function () {
  await download();
}
