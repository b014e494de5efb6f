/** From `svcnet load`: the nodes, their batches, the load. */
import { SharedArray } from 'k6/data';

/** @import { LoadConfig, LoadData, TargetNode } from '../../../harness/run/load/k6/config.ts' */

const path = __ENV['SVCNET_LOAD'];
if (path === undefined) {
  throw new Error('this script uses svcnet/k6: run it with svcnet load --script, which tells it the nodes');
}

/** @type {LoadConfig} */
export const config = JSON.parse(open(path));

/** @type {Record<string, string>} headers by the names of nodes */
const authorizations = JSON.parse(__ENV['SVCNET_LOAD_AUTHORIZATION'] ?? '{}');

/**
 * Header that lets a request in, if the node requires one.
 * @param {TargetNode} node
 * @returns {Record<string, string>}
 */
export function authorization({ name }) {
  const header = authorizations[name];
  return header === undefined ? {} : { authorization: header };
}

/** Uploaded before the load; one copy for all users. */
export const objects = new SharedArray('objects', () => {
  /** @type {LoadData} */
  const data = JSON.parse(open(config.data));
  return [...data.objects];
});

/** Of feed updates, hex; one copy for all users. */
export const signatures = new SharedArray('signatures', () => {
  /** @type {LoadData} */
  const data = JSON.parse(open(config.data));
  return [...data.signatures];
});

/** The nodes of the cluster that take part. */
export const nodes = config.nodes;

/** With a batch. */
export const uploaders = nodes.filter(({ batch }) => batch !== '');

/**
 * Nodes in turn.
 * @param {readonly TargetNode[]} among
 * @param {number} turn
 * @returns {TargetNode}
 */
export function inTurn(among, turn) {
  const node = among[turn % among.length];
  if (node === undefined) throw new Error('no node of the cluster can do this: none has a batch');
  return node;
}
