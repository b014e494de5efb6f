/** Uploads new data, one piece in each iteration. */
import { upload } from './lib/uploads.js';

export default async function () {
  await upload();
}
