export const POSTAGE = `0x${'c0'.repeat(20)}`;
export const TOKEN = `0x${'70'.repeat(20)}`;
export const FACTORY = `0x${'fa'.repeat(20)}`;
export const ORACLE = `0x${'0c'.repeat(20)}`;
export const CHAIN_ID = 31_337n;
