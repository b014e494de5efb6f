export const NOBODY =
  'SVCNET_FLAVOURS names no flavour and SVCNET_BEE_BINARY no program: one, or several with commas between';

/** @returns as `svcnet diff --flavours` takes it */
export function flavoursNamed(): string[] {
  const { SVCNET_FLAVOURS, SVCNET_BEE_BINARY = '' } = process.env;
  const listed = (text: string) =>
    text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
  return SVCNET_FLAVOURS === undefined
    ? listed(SVCNET_BEE_BINARY).map((program) => `bee@${program}`)
    : listed(SVCNET_FLAVOURS);
}
