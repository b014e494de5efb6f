/** Sends a message in each iteration and waits for its delivery. */
import { sendMessage } from './lib/messages.js';

export default async function () {
  await sendMessage();
}
