/**
 * `k6/http` of a bundled script: tags name a request's node and endpoint. k6 keeps a series for every value of a tag, so
 * these are few; its own `url` and `name` may differ in every request.
 */
import http from 'k6/http';
import { nodes } from '../lib/config.js';

export * from 'k6/http';

/** @import { Params } from 'k6/http' */

/** By one user of k6; all others are `other`. */
const VALUES_MAX = 50;
/** A longer first part of a path, or one with more digits, belongs to one request alone. */
const WORD = /^(?!.*\d.*\d)[^\s]{0,24}$/;

/** @type {Record<'node' | 'endpoint', Set<string>>} */
const given = { node: new Set(), endpoint: new Set() };

/**
 * @param {'node' | 'endpoint'} tag
 * @param {string} value
 */
function bounded(tag, value) {
  const values = given[tag];
  if (values.size < VALUES_MAX) values.add(value);
  return values.has(value) ? value : 'other';
}

/**
 * @param {string} method
 * @param {unknown} url a text, or what `http.url` makes of one, which has a name already
 * @param {Params | null | undefined} params
 * @returns {Params}
 */
function tagged(method, url, params) {
  const { url: whole = String(url) } =
    typeof url === 'object' && url !== null && 'url' in url ? { url: String(url.url) } : {};
  const [, origin = '', path = ''] = /^([a-z]+:\/\/[^/?#]*)\/?([^/?#]*)/i.exec(whole) ?? [];
  const node = bounded(
    'node',
    nodes.find(({ api }) => whole.startsWith(api))?.name ?? origin.replace(/^.*\/\//, ''),
  );
  const endpoint = bounded('endpoint', `${method} /${WORD.test(path) ? path : '*'}`);
  const name = typeof url === 'object' ? {} : { name: endpoint };
  return { ...params, tags: { ...name, ...params?.tags, node, endpoint } };
}

/** @typedef {any} Any what a script gives is passed on, whatever it is */

export const get = (/** @type {Any} */ url, /** @type {Any} */ params) =>
  http.get(url, tagged('GET', url, params));
export const head = (/** @type {Any} */ url, /** @type {Any} */ params) =>
  http.head(url, tagged('HEAD', url, params));

/** @param {'post' | 'put' | 'patch' | 'del' | 'options'} name */
const withBody = (name) => (/** @type {Any} */ url, /** @type {Any} */ body, /** @type {Any} */ params) =>
  http[name](url, body, tagged(name === 'del' ? 'DELETE' : name.toUpperCase(), url, params));
export const post = withBody('post');
export const put = withBody('put');
export const patch = withBody('patch');
export const del = withBody('del');
export const options = withBody('options');

/** @param {'request' | 'asyncRequest'} name */
const withMethod =
  (name) =>
  (/** @type {Any} */ method, /** @type {Any} */ url, /** @type {Any} */ body, /** @type {Any} */ params) =>
    http[name](method, url, body, tagged(String(method).toUpperCase(), url, params));
export const request = withMethod('request');
export const asyncRequest = withMethod('asyncRequest');

/** One of a batch: a URL, a list, or an object. @param {Any} one */
function ofBatch(one) {
  if (Array.isArray(one)) {
    const [method, url, body, params] = one;
    return [method, url, body, tagged(String(method).toUpperCase(), url, params)];
  }
  if (typeof one !== 'object' || one === null || one.method === undefined) {
    return ['GET', one, null, tagged('GET', one, undefined)];
  }
  return { ...one, params: tagged(String(one.method).toUpperCase(), one.url, one.params) };
}

export const batch = (/** @type {Any} */ requests) =>
  http.batch(
    Array.isArray(requests)
      ? requests.map(ofBatch)
      : Object.fromEntries(Object.entries(requests).map(([key, one]) => [key, ofBatch(one)])),
  );

const wrapped = { get, head, post, put, patch, del, options, request, asyncRequest, batch };
export default Object.assign(Object.create(http), wrapped);
