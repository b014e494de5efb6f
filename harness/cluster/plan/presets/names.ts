/** Names of predefined definitions; `presets.ts` has their contents. */
export const PRESET_NAMES = ['factory'] as const;
