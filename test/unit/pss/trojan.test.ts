import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { cacAddress, makeCac } from '../../../formats/chunk/cac.ts';
import { ephemeralKey, publicKeyOf, sharedSecret } from '../../../formats/crypto/ecdh.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { systemRandom } from '../../../formats/random.ts';
import { checkTargets, mine } from '../../../node/pss/mining.ts';
import {
  MESSAGE_SIZE_MAX,
  mayBeTrojan,
  open,
  randomSecret,
  type Secret,
  seal,
  topicOf,
} from '../../../node/pss/trojan.ts';
import vectors from '../../vectors/messaging.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input: {
    readonly text?: string;
    readonly topic?: string;
    readonly messageUtf8?: string;
    readonly ephemeralPrivateKey?: string;
    readonly recipientPrivateKey?: string;
    readonly targets?: readonly string[];
    readonly chunkHead?: string;
    readonly length?: number;
    readonly subscribedTopics?: readonly string[];
    readonly privateKey?: string;
    readonly messageLength?: number;
  };
  readonly expected: {
    readonly valid?: boolean;
    readonly topic?: string;
    readonly messageUtf8?: string;
    readonly error?: string;
    readonly sharedKey?: string;
    readonly hint?: string;
    readonly nonce?: string;
    readonly address?: string;
    readonly chunkHead?: string;
    readonly keccak256OfChunkData?: string;
  };
}

const cases = (vectors.cases as Case[]).filter(({ name }) => !name.startsWith('GSOC'));
const topics = cases.filter(({ input }) => input.text !== undefined);
const sealed = cases.filter(({ expected }) => expected.sharedKey !== undefined);
const opened = cases.filter(({ input }) => input.chunkHead !== undefined);
const tooLong = cases.filter(({ input }) => input.messageLength !== undefined);
const badTargets = cases.filter(({ input, expected }) => input.targets !== undefined && 'error' in expected);

const random = systemRandom();
const rest = { clock: { sleep: async () => undefined }, signal: new AbortController().signal };
const stranger = ephemeralKey(random);
const topic = topicOf('topic');

test('a full chunk of data is not worth a key agreement, every sealed message is', () => {
  const dataOf = (span: bigint, size: number) => makeCac(span, random.bytes(size)).data;
  expect(mayBeTrojan(dataOf(4096n, 4096))).toBe(false);
  expect(mayBeTrojan(dataOf(4095n, 4095))).toBe(false);
  expect(mayBeTrojan(dataOf(8192n, 4096))).toBe(true);
  const letter = { topic, message: Buffer.from('x'), recipient: undefined };
  expect(mayBeTrojan(seal(letter, randomSecret(random)))).toBe(true);
});

test('every vector is used', () => {
  const walked = [...topics, ...sealed, ...opened, ...tooLong, ...badTargets];
  expect(new Set(walked).size).toBe(cases.length);
});

test.each(topics)('$name', ({ input, expected }) => {
  expect(toHex(topicOf(input.text!))).toBe(expected.topic);
});

test.each(sealed)('$name is sealed and mined', async ({ input, expected }) => {
  const secret: Secret = {
    ephemeral: fromHex(input.ephemeralPrivateKey!),
    nonce: Uint8Array.from([0, 0, 0, 0, ...keccak256(Buffer.from('nonce')).subarray(4)]),
    padding: (size) => new Uint8Array(size),
  };
  const recipient = publicKeyOf(fromHex(input.recipientPrivateKey!));
  const letter = { topic: topicOf(input.topic!), message: Buffer.from(input.messageUtf8!), recipient };
  const data = seal(letter, secret);
  const chunk = await mine(data, input.targets!.map(fromHex), { padding: 0, ...rest });
  expect(toHex(chunk.data.subarray(0, 8))).toBe(expected.hint);
  expect(toHex(chunk.data.subarray(8, 40))).toBe(expected.nonce);
  expect(toHex(chunk.data)).toMatch(new RegExp(`^${expected.chunkHead}`));
  expect(toHex(keccak256(chunk.data))).toBe(expected.keccak256OfChunkData);
  expect(toHex(chunk.address)).toBe(expected.address);
});

test('a message without a recipient is sealed for the key that is the topic', () => {
  const secret = randomSecret(random);
  const same = { ...secret, padding: (size: number) => new Uint8Array(size) };
  const message = Buffer.from('some payload');
  const toAll = seal({ topic, message, recipient: undefined }, same);
  expect(toHex(toAll)).toBe(toHex(seal({ topic, message, recipient: publicKeyOf(topic) }, same)));
});

test.each(opened)('$name', ({ input, expected }) => {
  const data = new Uint8Array(input.length!);
  data.set(fromHex(input.chunkHead!));
  const result = open(data, fromHex(input.privateKey!), input.subscribedTopics!.map(topicOf));
  if (expected.valid !== true) {
    expect(result).toBeUndefined();
    return;
  }
  expect(toHex(result!.topic)).toBe(toHex(topicOf(expected.topic!)));
  expect(Buffer.from(result!.message).toString('utf8')).toBe(expected.messageUtf8);
});

test.each(tooLong)('$name', ({ input, expected }) => {
  const message = new Uint8Array(input.messageLength!);
  expect(() => seal({ topic, message, recipient: undefined }, randomSecret(random))).toThrow(expected.error);
});

test.each(badTargets)('$name', ({ input, expected }) => {
  expect(() => checkTargets(input.targets!.map(fromHex))).toThrow(expected.error);
});

const messages = fc.uint8Array({ maxLength: 4000 });

describe('a sealed message', () => {
  property.prop([messages, fc.string()], { numRuns: 30 })(
    'can be opened only by its recipient',
    (message, text) => {
      const key = ephemeralKey(random);
      const letter = { topic: topicOf(text), message, recipient: publicKeyOf(key) };
      const data = seal(letter, randomSecret(random));
      const result = open(data, key, [topicOf(`${text}!`), topicOf(text)]);
      expect(toHex(result!.message)).toBe(toHex(message));
      expect(toHex(result!.topic)).toBe(toHex(topicOf(text)));
      expect(open(data, stranger, [topicOf(text)])).toBeUndefined();
      expect(open(data, key, [topicOf(`${text}!`)])).toBeUndefined();
    },
  );

  property.prop([messages], { numRuns: 20 })(
    'without a recipient can be opened by anyone who knows the topic',
    (message) => {
      const data = seal({ topic, message, recipient: undefined }, randomSecret(random));
      expect(toHex(open(data, stranger, [topic])!.message)).toBe(toHex(message));
    },
  );

  test('with a changed bit cannot be opened, unless the bit belongs to nonce or padding', () => {
    const message = new Uint8Array(3000).fill(5);
    const data = seal({ topic, message, recipient: undefined }, randomSecret(random));
    const meaningful = fc.integer({ min: 0, max: 72 + 32 + 3000 - 1 }).filter((at) => at < 8 || at >= 40);
    fc.assert(
      fc.property(meaningful, fc.integer({ min: 0, max: 7 }), (at, bit) => {
        const changed = data.slice();
        changed[at]! ^= 1 << bit;
        expect(open(changed, stranger, [topic])).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  test('needs a new ephemeral key each time', () => {
    const letter = { topic, message: Buffer.from('x'), recipient: undefined };
    const [one, two] = [seal(letter, randomSecret(random)), seal(letter, randomSecret(random))];
    expect(toHex(one.subarray(40, 72))).not.toBe(toHex(two.subarray(40, 72)));
  });
});

property.prop([fc.uint8Array({ minLength: 4100, maxLength: 4110 })], { numRuns: 50 })(
  'garbage is never a message',
  (data) => {
    expect(open(data, stranger, [topic, topicOf('other')])).toBeUndefined();
  },
);

test('a shared secret is the same from both sides and loses its leading zeros', () => {
  for (let n = 0; n < 6000; n++) {
    const [a, b] = [ephemeralKey(random), ephemeralKey(random)];
    const secret = sharedSecret(a, publicKeyOf(b));
    expect(toHex(secret)).toBe(toHex(sharedSecret(b, publicKeyOf(a))));
    expect(secret[0]).not.toBe(0);
    if (secret.length < 32) return;
  }
  throw new Error('no secret of 6,000 begins with a zero, of which one in 256 does');
});

describe('mining', () => {
  const letter = { topic, message: Buffer.from('x'), recipient: undefined };
  const padding = MESSAGE_SIZE_MAX - 1;

  test.each([
    ['short', 1],
    ['of which four bytes of padding are left', MESSAGE_SIZE_MAX - 4],
    ['of which three bytes of padding are left', MESSAGE_SIZE_MAX - 3],
    ['as long as any', MESSAGE_SIZE_MAX],
  ])('of a message %s finds a target, and the recipient can open it', async (_name, length) => {
    const message = random.bytes(length);
    for (let n = 0; n < 6; n++) {
      const data = seal({ topic, message, recipient: undefined }, randomSecret(random));
      const before = data.slice();
      const targets = [Uint8Array.of(n), Uint8Array.of(255 - n)];
      const chunk = await mine(data, targets, { padding: MESSAGE_SIZE_MAX - length, ...rest });
      expect([n, 255 - n]).toContain(chunk.address[0]);
      expect(toHex(cacAddress(chunk.data))).toBe(toHex(chunk.address));
      expect(toHex(chunk.data.subarray(12, -4))).toBe(toHex(before.subarray(12, -4)));
      expect(toHex(open(chunk.data, stranger, [topic])!.message)).toBe(toHex(message));
    }
  });

  test.each([0, padding])('finds two bytes with %i bytes of padding', async (room) => {
    const target = random.bytes(2);
    const chunk = await mine(seal(letter, randomSecret(random)), [target], { padding: room, ...rest });
    expect(toHex(chunk.address.subarray(0, 2))).toBe(toHex(target));
  });

  test('leaves a chunk unchanged except for the nonce when there is no padding', async () => {
    const data = seal(letter, randomSecret(random));
    const before = data.slice();
    await mine(data, [Uint8Array.of(1)], { padding: 3, ...rest });
    expect(toHex(data.subarray(12))).toBe(toHex(before.subarray(12)));
  });

  test.each([0, padding])(
    'with %i bytes of padding lets other work run in between, and ends with its signal',
    async (room) => {
      const ending = new AbortController();
      let turns = 0;
      const clock = {
        async sleep(_ms: number, signal?: AbortSignal) {
          if (++turns === 3) ending.abort(new Error('enough'));
          signal?.throwIfAborted();
        },
      };
      const options = { padding: room, clock, signal: ending.signal };
      // So long that no luck finds it.
      const mined = mine(seal(letter, randomSecret(random)), [new Uint8Array(8)], options);
      await expect(mined).rejects.toThrow('enough');
      expect(turns).toBe(3);
    },
  );

  test('of two messages in turns succeeds for both', async () => {
    const targets = [random.bytes(2), random.bytes(2)];
    const mined = targets.map((target) =>
      mine(seal(letter, randomSecret(random)), [target], { padding, ...rest }),
    );
    for (const [i, chunk] of (await Promise.all(mined)).entries())
      expect(toHex(chunk.address.subarray(0, 2))).toBe(toHex(targets[i] as Uint8Array));
  });
});
