/** Downloads earlier uploads, and now and then uploads new data. */
import { config } from './lib/config.js';
import { drawsOf } from './lib/content.js';
import { download } from './lib/downloads.js';
import { iterationStart } from './lib/operations.js';
import { uniqueIndex, upload } from './lib/uploads.js';

export default async function () {
  iterationStart();
  const [draw = 0] = await drawsOf(config, uniqueIndex('choice'));
  await (draw < config.readShare ? download() : upload());
}
