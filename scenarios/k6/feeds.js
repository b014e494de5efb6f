/** Updates a feed and reads it on another node in each iteration. */
import { updateAndReadFeed } from './lib/feeds.js';

export default async function () {
  await updateAndReadFeed();
}
