/** Uploads new chunks over one stream in each iteration. */
import { streamChunks } from './lib/chunks.js';

export default async function () {
  await streamChunks();
}
