/** Compares what it downloads, one piece per iteration. */
import { download } from './lib/downloads.js';

export default async function () {
  await download();
}
