/** What nodes count about each other, and the chain about them (scenarios.md 3.8). */

/** What a node counts about one peer. */
export interface Link {
  /** Overlay of the peer. */
  readonly peer: string;
  /** Accounting units; positive: the peer owes. */
  readonly balance: bigint;
  /** Debt at which the node disconnects the peer, with the current allowance; undefined while not connected. */
  readonly limit: bigint | undefined;
  /** By time, accounting units. */
  readonly timeSent: bigint;
  /** By time, accounting units. */
  readonly timeReceived: bigint;
  /** By cheques: cumulative payouts, token units. */
  readonly chequeSent: bigint;
  /** By cheques: cumulative payouts, token units. */
  readonly chequeReceived: bigint;
}

/** The books of a node. */
export interface NodeBooks {
  readonly name: string;
  readonly overlay: string;
  /** Account on the chain, 40 hex digits. */
  readonly account: string;
  /** 40 hex digits; undefined without. */
  readonly chequebook: string | undefined;
  /** How often its data was removed: its sums began anew each time. */
  readonly wipes: number;
  readonly links: readonly Link[];
}

/** A chequebook as the contract keeps it, token units. */
export interface ChequebookBooks {
  readonly address: string;
  /** What the contract holds, token units. */
  readonly balance: bigint;
  /** To all beneficiaries, token units. */
  readonly totalPaidOut: bigint;
  /** By account of the beneficiary. */
  readonly paidOut: ReadonlyMap<string, bigint>;
}

/** Token units, all of one block. */
export interface ChainBooks {
  readonly block: number;
  readonly supply: bigint;
  readonly wallets: ReadonlyMap<string, bigint>;
  readonly chequebooks: readonly ChequebookBooks[];
  /** What the staking contract holds, and owes each account. */
  readonly staked: bigint;
  readonly stakes: ReadonlyMap<string, bigint>;
  /** It includes the pot, what batches have left, and remainders of divisions. */
  readonly postage: bigint;
  readonly pot: bigint;
  readonly batches: readonly { readonly id: string; readonly depth: number; readonly remaining: bigint }[];
  /** Depths that batches were diluted to. A dilution divides what each chunk has left; the remainder stays. */
  readonly dilutions: readonly number[];
}

/** The books of all nodes, and of the contracts where they could be read. */
export interface Books {
  readonly nodes: readonly NodeBooks[];
  readonly chain?: ChainBooks;
}

/**
 * @param before earlier books of the cluster
 * @param isExplained whether what was done to a link's end explains a gap; default: none
 * @returns a line per wrong sum
 */
export function violations(
  books: Books,
  before?: Books,
  isExplained: (gap: LinkGap) => boolean = () => false,
): string[] {
  const explained = new Set(
    linkGaps(books.nodes)
      .filter(isExplained)
      .map(({ text }) => text),
  );
  return [
    ...linkViolations(books.nodes).filter((line) => !explained.has(line)),
    ...lawViolations(books, before),
  ];
}

/** Sums that hold at every moment. @param books the chain's part read before the nodes' */
export function lawViolations({ nodes, chain }: Books, before?: Books): string[] {
  return [
    ...(chain === undefined ? [] : [...chequeViolations(nodes, chain), ...chainViolations(chain)]),
    ...(before === undefined ? [] : shrunkCheques({ nodes }, before)),
  ];
}

/** Both ends count the same; no node is owed more than it allows. */
export function linkViolations(nodes: readonly NodeBooks[]): string[] {
  const overdrawn = nodes.flatMap(({ name, links }) =>
    links
      .filter(({ balance, limit }) => limit !== undefined && balance > limit)
      .map(({ peer, balance, limit }) => {
        const debtor = nodes.find(({ overlay }) => overlay === peer)?.name ?? peer.slice(0, 8);
        return `${debtor} owes ${name} ${balance}, above the limit of ${limit}, and is connected`;
      }),
  );
  return [...linkGaps(nodes).map(({ text }) => text), ...overdrawn];
}

/** Something that the ends of a link count differently. */
export interface LinkGap {
  /** The same for a link whatever the figures. */
  readonly id: string;
  readonly ends: readonly [string, string];
  readonly what: 'balance' | 'by time' | 'by cheques';
  /** Accounting units, or token units of cheques. */
  readonly gap: bigint;
  readonly total: bigint;
  readonly text: string;
}

/** An end that dies while a payment or a chunk is under way does not count it, but the other end has. */
export function linkGaps(nodes: readonly NodeBooks[]): LinkGap[] {
  // A node that has lost its data counts the first cheque of a peer in full.
  const pairs = pairsOf(nodes).filter(([one, other]) => one.wipes + other.wipes === 0);
  return pairs.flatMap(([one, other]) => {
    const here = linkOf(one, other);
    const there = linkOf(other, one);
    const ends = [one.name, other.name] as const;
    const differ = (
      what: 'by time' | 'by cheques',
      { sent, received, from, to }: { sent: bigint; received: bigint; from: NodeBooks; to: NodeBooks },
    ): LinkGap[] => {
      if (sent === received) return [];
      const text = `${what}: ${from.name} has sent ${sent} to ${to.name}, which has received ${received}`;
      const id = `${what} from ${from.name} to ${to.name}`;
      return [
        { id, ends, what, gap: absolute(sent - received), total: sent > received ? sent : received, text },
      ];
    };
    const [hither, thither] = [
      { from: other, to: one },
      { from: one, to: other },
    ];
    const sum = here.balance + there.balance;
    const total = [here.balance, there.balance].map(absolute).reduce((a, b) => (a > b ? a : b));
    const text = `${one.name} says ${here.balance} of ${other.name}, which says ${there.balance}`;
    const id = `balance of ${ends.join(' and ')}`;
    const balance: LinkGap = { id, ends, what: 'balance', gap: absolute(sum), total, text };
    return [
      ...(sum === 0n ? [] : [balance]),
      ...differ('by time', { sent: here.timeSent, received: there.timeReceived, ...thither }),
      ...differ('by time', { sent: there.timeSent, received: here.timeReceived, ...hither }),
      ...differ('by cheques', { sent: here.chequeSent, received: there.chequeReceived, ...thither }),
      ...differ('by cheques', { sent: there.chequeSent, received: here.chequeReceived, ...hither }),
    ];
  });
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** No node cashes what it was not promised. */
function chequeViolations(nodes: readonly NodeBooks[], chain: ChainBooks): string[] {
  return chain.chequebooks.flatMap((book) => {
    const issuer = nodes.find(({ chequebook }) => chequebook === book.address);
    const cashed = [...book.paidOut.values()].reduce((sum, paid) => sum + paid, 0n);
    const total =
      cashed === book.totalPaidOut
        ? []
        : [`chequebook ${book.address} has paid ${book.totalPaidOut}, its known beneficiaries got ${cashed}`];
    if (issuer === undefined || issuer.wipes > 0) return total;
    const over = nodes.flatMap((beneficiary) => {
      const paid = book.paidOut.get(beneficiary.account) ?? 0n;
      const promised = linkOf(issuer, beneficiary).chequeSent;
      return paid <= promised
        ? []
        : [`${beneficiary.name} has cashed ${paid} of ${issuer.name}, which has promised ${promised}`];
    });
    return [...total, ...over];
  });
}

/** Every token is somewhere; contracts hold what they owe. */
function chainViolations(chain: ChainBooks): string[] {
  const lines: string[] = [];
  const sum = (values: Iterable<bigint>) => [...values].reduce((total, value) => total + value, 0n);
  const held =
    sum(chain.wallets.values()) +
    sum(chain.chequebooks.map(({ balance }) => balance)) +
    chain.staked +
    chain.postage;
  if (held !== chain.supply) {
    lines.push(
      `supply ${chain.supply} at block ${chain.block}, but known accounts and contracts hold ${held}`,
    );
  }
  const owed = sum(chain.stakes.values());
  if (owed !== chain.staked) lines.push(`the stakes are ${owed}, their contract holds ${chain.staked}`);
  const value = sum(chain.batches.map(({ depth, remaining }) => remaining << BigInt(depth)));
  const left = chain.postage - chain.pot - value;
  const leftMax = sum(chain.dilutions.map((depth) => 1n << BigInt(depth)));
  if (left < 0n || left > leftMax) {
    lines.push(
      `pot ${chain.pot} and batches ${value} at block ${chain.block}, their contract holds ${chain.postage}`,
    );
  }
  return lines;
}

/** A cheque promises more than the one before, unless its node has forgotten that one. */
function shrunkCheques(books: Books, before: Books): string[] {
  return books.nodes.flatMap((node) => {
    const earlier = before.nodes.find(
      ({ overlay, wipes }) => overlay === node.overlay && wipes === node.wipes,
    );
    return (earlier?.links ?? []).flatMap((link) => {
      const now = node.links.find(({ peer }) => peer === link.peer);
      const shrunk = (what: string, was: bigint, is = 0n) =>
        is < was ? [`${node.name}: what was ${what} ${link.peer.slice(0, 8)} fell from ${was} to ${is}`] : [];
      return [
        ...shrunk('promised to', link.chequeSent, now?.chequeSent),
        ...shrunk('promised by', link.chequeReceived, now?.chequeReceived),
      ];
    });
  });
}

const NO_LINK = { balance: 0n, timeSent: 0n, timeReceived: 0n, chequeSent: 0n, chequeReceived: 0n };

function linkOf(node: NodeBooks, other: NodeBooks): Omit<Link, 'peer' | 'limit'> {
  return node.links.find(({ peer }) => peer === other.overlay) ?? NO_LINK;
}

function pairsOf(nodes: readonly NodeBooks[]): [NodeBooks, NodeBooks][] {
  return nodes.flatMap((one, i) => nodes.slice(i + 1).map((other): [NodeBooks, NodeBooks] => [one, other]));
}
