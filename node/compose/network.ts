/** Peers, debts, and places in the address space. */

import { toHex } from '../../formats/crypto/hex.ts';
import { type AccountingService, createAccounting } from '../accounting/accounting.ts';
import { paymentTerms } from '../accounting/terms.ts';
import { createWarmUp, type WarmUp } from '../neighbourhood/warmup.ts';
import type { NodeOptions } from '../options.ts';
import { ADDRESS_BOOK, createAddressBook } from '../p2p/address/address-book.ts';
import type { Host } from '../p2p/host.ts';
import type { HostDeps, HostOptions } from '../p2p/host-options.ts';
import { createHive } from '../protocols/hive/hive.ts';
import { createPingpong, type Pingpong } from '../protocols/pingpong/pingpong.ts';
import { createPricing, type Pricing } from '../protocols/pricing/pricing.ts';
import { createPseudosettle, type Pseudosettle } from '../protocols/pseudosettle/pseudosettle.ts';
import { createSwap, type SwapProtocol } from '../protocols/swap/swap.ts';
import { createKademlia, type Kademlia } from '../topology/kademlia.ts';
import type { Foundation } from './foundation.ts';
import type { GivenRecords } from './given-records.ts';
import type { Money } from './money.ts';

export interface Network {
  readonly host: Host;
  readonly accounting: AccountingService;
  readonly pseudosettle: Pseudosettle;
  readonly pingpong: Pingpong;
  readonly topology: Kademlia;
  readonly warmUp: WarmUp;
  /** The node was started with a record of it. */
  readonly isGiven: (overlayHex: string) => boolean;
  /** The address book has a record of it. */
  readonly isKnown: (overlayHex: string) => boolean;
}

export interface NetworkDeps extends Foundation {
  readonly given: GivenRecords;
  readonly carriers: Pick<HostOptions, 'carriers' | 'secure' | 'authority'>;
  readonly money: Money;
  /** That most peers report; undefined while none has. */
  readonly networkRadius: () => number | undefined;
}

export function openNetwork(options: NodeOptions, deps: NetworkDeps): Network {
  const { clock, random, metrics, module, store, parts, networkId, serving, given } = deps;
  const addressBook = createAddressBook(store.state(ADDRESS_BOOK), {
    inUse: (id) => host.peer(id) !== undefined || (accounting.balance(id)?.balance ?? 0n) !== 0n,
    given: given.except(toHex(deps.overlay)),
  });
  const isGiven = (id: string) => given.of(id) !== undefined;
  const isCommon = (id: string) => isGiven(id) && addressBook.get(id)?.timestamp === given.of(id)?.timestamp;
  const listensAt = (remoteId: string) => {
    const place = given.placeOf(remoteId);
    return place !== undefined && isCommon(place.overlay) ? place.underlays : undefined;
  };
  const host = openHost(options, deps, { addressBook, listensAt });
  const { accounting, pseudosettle } = openAccounts(options, deps, host);

  const allowPrivateCidrs = options['allow-private-cidrs'];
  const bootnodeMode = options['bootnode-mode'];
  const hive = createHive(
    { networkId, allowPrivateCidrs, bootnodeMode, gossipedPeers: deps.platform.limits?.gossipedPeers },
    { host, addressBook, clock, log: module('hive'), metrics },
  );
  const pingpong = createPingpong({ host, clock, log: module('pingpong'), metrics });
  const topology = createKademlia(
    {
      bootnodes: options.bootnode,
      onlyPeers: options['only-peers'],
      // A node without a reserve uses the others' radius.
      storageRadius: () =>
        serving ? store.reserve.radius() : (deps.networkRadius() ?? options['minimum-storage-radius']),
      allowPrivateCidrs,
      dedicatedBootnodes: options['dedicated-bootnodes'],
      bootnodeMode,
      reachable: options.reachable,
    },
    {
      host,
      hive,
      addressBook,
      clock,
      random,
      log: module('kademlia'),
      metrics,
      state: store.state('kademlia'),
      isCommon,
      knows: (id, other) => isCommon(id) && isCommon(other) && given.had(id, other),
    },
  );

  const warmUp = createWarmUp(
    { timeMs: options['full-node'] ? options['warmup-time'] : 0 },
    { clock, metrics },
  );
  parts.defer(() => warmUp.stop());
  host.onConnected((peer) => {
    if (peer.fullNode) warmUp.connected();
  });
  const isKnown = (id: string) => addressBook.get(id) !== undefined;
  return { host, accounting, pseudosettle, pingpong, topology, warmUp, isGiven, isKnown };
}

function openHost(
  options: NodeOptions,
  deps: NetworkDeps,
  { addressBook, listensAt }: Required<Pick<HostDeps, 'addressBook'> & Pick<HostOptions, 'listensAt'>>,
): Host {
  const { platform, money, networkId, nonce, signer, keys, store, clock, random, module, metrics } = deps;
  return platform.host(
    {
      listen: options['p2p-addr'],
      networkId,
      nonce,
      fullNode: options['full-node'],
      allowPrivateCidrs: options['allow-private-cidrs'],
      welcomeMessage: options['welcome-message'],
      onlyPeers: options['only-peers'],
      configured: [...options.bootnode, ...options['only-peers']],
      chequebook: () => money.swap?.chequebook?.address,
      givenRecord: deps.given.of(toHex(deps.overlay)),
      listensAt,
      ...deps.carriers,
      ...(options['nat-addr'] === '' ? {} : { natAddress: options['nat-addr'] }),
    },
    {
      signer,
      identity: keys.libp2p,
      addressBook,
      state: store.state('p2p'),
      clock,
      random,
      log: module('p2p'),
      metrics,
    },
  );
}

/** Accounting requests refreshes and cheques, and announces thresholds, which are built on accounting. */
function openAccounts(
  options: NodeOptions,
  { money, clock, store, log, module, metrics, parts, signer }: NetworkDeps,
  host: Host,
): Pick<Network, 'accounting' | 'pseudosettle'> {
  const { swap } = money;
  const cheques: SwapProtocol | undefined =
    swap === undefined
      ? undefined
      : createSwap(
          { factory: options['swap-factory-address'], beneficiary: signer.address },
          {
            host,
            accounting: {
              paymentReceived: (peer, amount) => accounting.paymentReceived(peer, amount),
              paidAhead: (peer, amount) => accounting.paidAhead(peer, amount),
            },
            swap,
            chain: money.chain,
            clock,
            log: module('swap'),
            metrics,
          },
        );
  const terms = paymentTerms(options);
  const accounting = createAccounting(terms, {
    host,
    clock,
    state: store.state('accounting'),
    log: module('accounting'),
    metrics,
    refresh: (peer, amount) => pseudosettle.settle(peer, amount),
    ...(cheques === undefined || !money.sendsCheques
      ? {}
      : { pay: (peer, amount) => cheques.pay(peer, amount), inDoubt: (peer) => cheques.inDoubt(peer) }),
    announce: (peer) => {
      pricing
        .announce(peer, peer.closed)
        .catch((error: unknown) =>
          log.debug({ err: error, peer: peer.overlayHex }, 'payment threshold could not be announced'),
        );
    },
  });
  parts.defer(() => accounting.stop());
  // The connect hooks' order: the account, then what we grant.
  const pseudosettle: Pseudosettle = createPseudosettle(terms, {
    host,
    accounting,
    state: store.state('pseudosettle'),
    clock,
    log: module('pseudosettle'),
    metrics,
  });
  const pricing: Pricing = createPricing(terms, { host, accounting, clock, log: module('pricing'), metrics });
  return { accounting, pseudosettle };
}
