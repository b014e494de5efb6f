/**
 * One owner for the load, several topics, updates in turn. k6 cannot sign fast enough: the harness signs before the load,
 * and the content is made here.
 */
import exec from 'k6/execution';
import { chunkOf } from './chunks.js';
import { config, inTurn, nodes, signatures } from './config.js';
import { contentOf } from './content.js';
import { iterationStart, OperationError, operation, WARMUP } from './operations.js';
import { answered, ask, uploadHeaders } from './requests.js';
import { nextUploader, send } from './uploads.js';

/** Of an update's id, in front of its signature. */
const ID_DIGITS = 64;

/** @param {number} number of an update, over all feeds */
const indexOf = (number) => `feed ${number}`;

/** Of one of the feeds. */
async function updateFeed() {
  iterationStart();
  const { owner, topics, size, warmupUpdates } = config.feeds;
  const number = exec.scenario.iterationInTest + (exec.scenario.name === WARMUP ? 0 : warmupUpdates);
  const signed = signatures[number];
  if (signed === undefined) {
    exec.test.abort(
      `all ${signatures.length} updates that were signed for this load are made; choose a shorter one`,
    );
    return undefined;
  }
  const node = nextUploader();
  const index = indexOf(number);
  const body = chunkOf(await contentOf(config, index, size)).buffer;
  const path = `/soc/${owner}/${signed.slice(0, ID_DIGITS)}?sig=${signed.slice(ID_DIGITS)}`;
  const headers = { 'content-type': 'application/octet-stream', ...uploadHeaders(node) };
  const done = await operation('update', node.name, () =>
    send(node, { kind: 'feed', index, size }, { path, body, headers }),
  );
  return done === undefined
    ? undefined
    : { node, topic: /** @type {string} */ (topics[number % topics.length]) };
}

/** Updates a feed, and reads it on another node, once the network has it. */
export async function updateAndReadFeed() {
  const updated = await updateFeed();
  if (updated === undefined) return undefined;
  const others = nodes.filter(({ name }) => name !== updated.node.name);
  const isElsewhere = config.mode === 'direct' && others.length > 0;
  const reader = isElsewhere ? inTurn(others, exec.scenario.iterationInTest) : updated.node;
  return operation('read', reader.name, async () => {
    const { owner, topics, size } = config.feeds;
    const { response, ms } = ask(
      reader,
      { method: 'GET', path: `/feeds/${owner}/${updated.topic}` },
      'binary',
    );
    const index = Number(`0x${answered(reader, response.headers, 'feed-index')}`);
    // Simultaneous updates may make any recent one the latest; its content must match its index.
    const number = index * topics.length + topics.indexOf(updated.topic);
    const expected = await contentOf(config, indexOf(number), size);
    const seen = new Uint8Array(response.body);
    if (seen.length !== size || seen.some((byte, i) => byte !== expected[i])) {
      const message = `${reader.name} served ${seen.length} bytes for update ${index} of feed ${updated.topic} that are not those uploaded`;
      throw new OperationError({ class: 'data.mismatch', message });
    }
    return { bytes: seen.length, ms, subject: updated.topic };
  });
}
