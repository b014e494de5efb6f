/** Uploads a new directory as an archive in each iteration. */
import { uploadDirectory } from './lib/uploads.js';

export default async function () {
  await uploadDirectory();
}
