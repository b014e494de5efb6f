/**
 * Every metric that dashboards rely on must move when its thing happens. Names that stay 0 here stand in a list with the
 * reason.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { type Exposition, parseExposition } from '../../../harness/metrics/exposition.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { bytesOf } from './kit.ts';

const CHUNK = 4096;
/** More than the reserves of five nodes hold. */
const RESERVE_CHUNKS = 150;
const FILE_CHUNKS = 150;
const FILES = 4;
const WAIT = { timeoutMs: 120_000 };
const ROUNDS = 4;

/** `scenarios.md` 8.5: names without the prefix, by kind; labels behind a colon. */
const RELIED_ON: Readonly<Record<'counter' | 'gauge' | 'histogram' | 'summary', string>> = {
  counter: `
    accounting_total_debited_amount accounting_total_credited_amount accounting_debit_events_count
    accounting_credit_events_count accounting_disconnects_enforce_refresh_count accounting_refresh_attempt_count
    accounting_non_fatal_refresh_fail_count accounting_disconnects_overdraw_count
    accounting_disconnects_ghost_overdraw_count accounting_disconnects_reconnect_count
    accounting_accounting_blocks_count accounting_accounting_reserve_count
    api_request_count api_response_code_count:code,method
    pushsync_total_sent pushsync_total_received pushsync_total_handler_errors pushsync_total_requests
    pushsync_total_send_attempts pushsync_total_failed_send_attempts pushsync_total_outgoing
    pushsync_total_outgoing_errors pushsync_invalid_stamps pushsync_forwarder pushsync_storer pushsync_shallow_receipt
    pushsync_overdraft_refresh pushsync_shallow_receipt_depth:depth pushsync_receipt_depth:depth
    pusher_total_to_push pusher_total_synced pusher_total_errors
    retrieval_request_count retrieval_request_success_count retrieval_request_failure_count
    retrieval_peer_request_count retrieval_total_retrieved retrieval_invalid_chunk_retrieved retrieval_total_errors
    pullsync_chunks_offered pullsync_chunks_wanted pullsync_missing_chunks pullsync_received_zero_address
    pullsync_received_invalid_chunks pullsync_chunks_delivered pullsync_chunks_sent_offered pullsync_chunks_sent_wanted
    pullsync_chunks_sent pullsync_last_received:bin
    puller_worker_iterations puller_synced_chunks:type puller_worker_errors puller_max_uint_errors
    kademlia_total_inbound_connections kademlia_total_outbound_connections
    kademlia_total_outbound_connection_attempts kademlia_total_outbound_connection_failed_attempts
    kademlia_total_inbound_disconnections
    libp2p_created_connection_count libp2p_handled_connection_count libp2p_created_stream_count
    libp2p_closed_stream_count libp2p_stream_reset_count libp2p_handled_stream_count libp2p_blocklisted_peer_count
    libp2p_disconnect_count libp2p_stream_handler_error_reset_count libp2p_protocol_bytes_total:direction,protocol
    hive_broadcast_peers_count hive_peers_handler_count hive_broadcast_peers_peer_count hive_peers_handler_peers_count
    handshake_syn_rx handshake_syn_rx_failed handshake_syn_ack_tx handshake_syn_ack_tx_failed handshake_ack_rx
    handshake_ack_rx_failed
    reacher_ping_attempt_count reacher_ping_error_count
    pingpong_ping_sent_count pingpong_pong_sent_count pingpong_ping_received_count pingpong_pong_received_count
    pss_total_message_sent
    swap_total_received swap_total_sent swap_cheques_received swap_cheques_sent swap_cheques_rejected
    pseudosettle_total_received_pseudosettlements pseudosettle_total_sent_pseudosettlements
    pseudosettle_received_pseudosettlements pseudosettle_sent_pseudosettlements
    pseudosettle_received_pseudosettlements_errors pseudosettle_sent_pseudosettlements_errorss
    localstore_evicted_count localstore_expired_count localstore_over_cap_trigger_count localstore_expired_batch_count
    postage_listener_events_processed postage_listener_event_errors postage_listener_created_events
    postage_listener_topup_events postage_listener_depth_events postage_listener_price_events
    postage_listener_backend_calls postage_listener_backend_errors
    storageincentives_commit_phases storageincentives_reveal_phases storageincentives_claim_phases
    storageincentives_winner storageincentives_neighborhood_selected storageincentives_insufficient_funds_to_play
    storageincentives_commit_phase_errors storageincentives_reveal_phase_errors storageincentives_claim_phase_errors
    salud_healthy salud_unhealthy
    eth_backend_total_rpc_calls eth_backend_total_rpc_errors
    log_error_count log_warn_count log_info_count log_debug_count log_trace_count`,
  gauge: `
    info:version puller_worker kademlia_current_depth kademlia_current_storage_depth kademlia_currently_known_peers
    kademlia_currently_connected_peers kademlia_peers_reachability_status:peers_reachability_status
    kademlia_reachability_status:reachability_status reacher_peers pss_mining_duration swap_available_balance
    localstore_reserve_size localstore_reserve_size_within_radius localstore_reserve_missing_batch
    localstore_storage_radius localstore_cache_size batchstore_commitment batchstore_radius
    storageincentives_current_phase storageincentives_round storageincentives_reserve_sample_duration
    salud_dur salud_pdur salud_pconns salud_network_radius salud_neighborhood_radius salud_batch_commitment
    salud_reserve_size_percentage_err salud_neighborhood_dur salud_neighbors`,
  histogram: `
    api_response_duration_seconds api_content_api_duration:filesize,method api_upload_speed:endpoint,mode
    api_download_speed:endpoint
    pushsync_stamp_validation_time:status pushsync_total_handler_time:status pushsync_push_peer_time:status
    pusher_sync_time pusher_error_time
    retrieval_request_duration_time retrieval_request_attempts retrieval_retrieve_chunk_time
    kademlia_peer_latency_ewma libp2p_headers_exchange_duration localstore_reserve_sample_duration_seconds:status
    init_warmup_duration_seconds init_full_sync_duration_minutes`,
  summary: 'retrieval_chunk_price',
};

/** All other families have moved on some node. */
const MAY_REST: Readonly<Record<string, string>> = {
  'workers_(threads|operations_count)': 'no upload is long enough for threads; workers.test.ts',
  'log_(error|warn|debug|trace)_count': 'nothing goes wrong, and single requests are not logged',
  'eth_backend_calls_(transaction|balance|code_at|nonce_at|pending_nonce_at|block_number)':
    'asked only when a transaction is not mined at once',
  'eth_backend_total_rpc_errors|postage_listener_(backend|event)_errors': 'the chain answers all the time',
  'transactions_(sent_again|reverted|cancelled|removed|pending)': 'the transactions are mined, and stay so',
  'postage_listener_(pages_taken_back|rebuilds)': 'the chain is never reorganised',
  'libp2p_(unexpected_protocol_request|blocklisted_peer(_err)?|disconnect)_count': 'no peer misbehaves',
  'libp2p_(stream_reset|stream_handler_error_reset)_count': 'a reset needs a refusal, and there may be none',
  'handshake_.*_failed': 'every handshake succeeds, but for that with a node that dies',
  swap_cheques_rejected: 'every cheque is good',
  'accounting_disconnects_.*': 'no peer runs into debt beyond its limit',
  'accounting_(non_fatal_refresh_fail|settle_error|payment_error)_count': 'every settlement succeeds',
  'accounting_(refreshment_(below|above)_expected|time_out_of_sync_.*)': 'all clocks are one',
  'accounting_accounting_blocks_count|pushsync_overdraft_refresh':
    'whether credit is short depends on the pace',
  'pseudosettle_.*_errorss?': 'all clocks are one',
  'pricing_thresholds_too_.*': 'all nodes announce the same threshold',
  init_full_sync_duration_minutes: 'a reserve that is full does not come to the end of what it could pull',
  kademlia_current_depth: 'needs three peers beyond the first bin',
  'kademlia_total_outbound_connection_failed_attempts|reacher_ping_error_count':
    'depends on who dials a node that dies',
  kademlia_pick_calls_false: 'no bin is full',
  'retrieval_invalid_chunk_retrieved|pullsync_received_invalid_chunks': 'nobody sends rubbish',
  'pushsync_invalid_stamps|pushsync_total_handler_errors|pushsync_no_room':
    'whether a chunk is refused depends on the pace',
  'pushsync_shallow_receipt(_depth)?|pushsync_total_failed_send_attempts|pushsync_total_outgoing_errors':
    'whether a push fails at first depends on the pace',
  'pusher_total_errors|pusher_error_time': 'whether a push fails at first depends on the pace',
  'pullsync_(missing_chunks|received_zero_address)': 'needs an eviction between an offer and its delivery',
  'puller_(max_uint_errors|worker_errors)':
    'no reserve comes to the end of its numbers, and pages fail by chance only',
  localstore_hand_over_refused_count: 'the neighbours have room',
  'localstore_(disk_full|damaged_count|healed_count)': 'the disk has room, and keeps what it was given',
  'api_(download_(stalled|refused)|idle_ended)_count': 'clients are few, and none stands still',
  'localstore_(expired_count|expired_batch_count|reserve_missing_batch)': 'no batch expires',
  'salud_(unhealthy|reserve_size_percentage_err|network_radius|neighborhood_radius)': 'all may be alike',
  'storageincentives_.*|localstore_reserve_sample_duration_seconds':
    'the storage game needs stakes and rounds',
  hive_timestamp_rejected_total: 'whether a record comes twice depends on the pace',
};

const LIGHT = 5;

const stateDir = temporaryFolder('svcnet-metrics');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    stateDir,
    nodes: [
      { count: 5, options: { 'reserve-capacity': RESERVE_CHUNKS, 'cache-capacity': 20 } },
      { mode: 'light', count: 1 },
    ],
    // Such nodes announce and probe each other.
    coldGossip: true,
    credit: 'low',
    seed: 7,
    driver: 'embedded',
  });
});
afterAll(() => net.stop());

async function expositions(): Promise<Map<string, Exposition>> {
  const running = net.nodes.filter((node) => node.running);
  const texts = await Promise.all(
    running.map(async (node) => [node.name, parseExposition(await node.client.metrics())] as const),
  );
  return new Map(texts);
}

async function largest(): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const { families, samples } of (await expositions()).values()) {
    for (const name of families.keys()) if (!found.has(name)) found.set(name, 0);
    for (const { name, value } of samples) {
      if (!families.has(name) && !name.endsWith('_count')) continue;
      const family = families.has(name) ? name : name.slice(0, -'_count'.length);
      found.set(family, Math.max(found.get(family) ?? 0, Math.abs(value)));
    }
  }
  return new Map(Array.from(found, ([name, value]) => [name.replace(/^svc_/, ''), value]));
}

async function evicted(): Promise<number> {
  return (await largest()).get('localstore_evicted_count') ?? 0;
}

test('every metric of a node moves when its event happens', async () => {
  const [a, b, c, d] = [net.node(0), net.node(1), net.node(2), net.node(3)];
  const batch = a.batch as string;
  const first = await a.bytes.upload(bytesOf('metrics', FILE_CHUNKS * CHUNK));
  await net.synced(first.reference, WAIT);
  // Full nodes may hold all of it by now.
  await net.node(LIGHT).bytes.download(first.reference);
  await expect(c.bytes.download('ab'.repeat(32))).rejects.toMatchObject({ status: 404 });
  await a.client.pingpong(b.overlay);
  await a.stamps.topUp(batch, 1000n);
  await a.stamps.dilute(batch, 21);
  const { pssPublicKey, overlay } = await b.client.addresses();
  await a.messages.send('metrics', [overlay.slice(0, 2)], 'hello', { recipient: pssPublicKey });
  // Any node may have received the cheques of the uploader.
  const paid = await until<typeof b>(
    'nobody has got a cheque',
    async (signal) => {
      for (const node of [b, c, d]) {
        const cheques = await node.chequebook.cheques(signal);
        const received = cheques.find(({ peer }) => peer === a.overlay)?.received ?? null;
        if (received !== null) return { done: node };
      }
      return { missing: 'a cheque of node-0' };
    },
    WAIT,
  );
  await paid.chequebook.cash(a.overlay);
  for (let file = 1; file <= FILES; file++)
    await a.bytes.upload(bytesOf(`metrics ${file}`, FILE_CHUNKS * CHUNK));
  await until(
    'no chunk was evicted',
    async () => ((await evicted()) > 0 ? { done: true } : { missing: 'an eviction' }),
    WAIT,
  );
  const unmoved = async () =>
    [...(await largest())]
      .filter(([name, value]) => value === 0 && reasonOf(name) === undefined)
      .map(([name]) => name);
  // On a busy machine one event may come too early or too late to be counted.
  for (let round = 1; ; round++) {
    // What it has missed is history to be pulled.
    await d.kill();
    const { reference } = await a.bytes.upload(bytesOf(`metrics last ${round}`, FILE_CHUNKS * CHUNK));
    await d.start();
    const missing = await until(
      'metrics have not moved',
      async () => {
        const names = await unmoved();
        return names.length === 0 ? { done: [] } : { missing: names.join(', ') };
      },
      { timeoutMs: 120_000 },
    ).catch(unmoved);
    if (missing.length === 0) return;
    expect(round, `metrics that have not moved: ${missing.join(', ')}`).toBeLessThan(ROUNDS);
    await net.node(LIGHT).bytes.download(reference);
  }
});

test('every name used by dashboards exists, with its kind and labels', async () => {
  const all = [...(await expositions()).values()];
  const kinds = new Map(
    all.flatMap(({ families }) => Array.from(families, ([name, { kind }]) => [name, kind] as const)),
  );
  const labelsOf = (name: string) =>
    all
      .flatMap(({ samples }) => samples)
      .filter((sample) => sample.name === name || sample.name === `${name}_count`)
      .map(({ labels }) => Object.keys(labels).toSorted().join(','));
  const wrong = Object.entries(RELIED_ON).flatMap(([kind, names]) =>
    names
      .trim()
      .split(/\s+/)
      .flatMap((text) => {
        const [name = '', labels = ''] = text.split(':');
        const seen = [...new Set(labelsOf(`svc_${name}`))];
        if (kinds.get(`svc_${name}`) !== kind)
          return [`${name}: ${kinds.get(`svc_${name}`)} instead of ${kind}`];
        return seen.every((some) => some === labels) ? [] : [`${name}: labels ${seen.join(' | ')}`];
      }),
  );
  expect(wrong).toEqual([]);
});

test('every exception names an existing metric', async () => {
  const names = [...(await largest()).keys()];
  const stale = Object.keys(MAY_REST).filter((pattern) => !names.some((name) => matches(pattern, name)));
  expect(stale).toEqual([]);
});

test('bytes are counted by protocol and direction, and what one node sends another receives', async () => {
  const sums = { sent: 0, received: 0 };
  for (const { samples } of (await expositions()).values()) {
    for (const { name, labels, value } of samples) {
      if (name !== 'svc_libp2p_protocol_bytes_total' || labels['protocol'] !== 'swap') continue;
      sums[labels['direction'] as keyof typeof sums] += value;
    }
  }
  expect(sums.sent).toBeGreaterThan(0);
  expect(sums.received).toBeGreaterThan(0);
});

test('nodes that share a process expose no metrics of the process', async () => {
  const families = [...(await expositions()).values()].flatMap((one) => [...one.families.keys()]);
  expect(families.filter((name) => /^(process|nodejs)_/.test(name))).toEqual([]);
});

function reasonOf(name: string): string | undefined {
  return Object.entries(MAY_REST).find(([pattern]) => matches(pattern, name))?.[1];
}

function matches(pattern: string, name: string): boolean {
  return new RegExp(`^(?:${pattern})$`).test(name);
}
