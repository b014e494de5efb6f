/** Definitions with a name; what they say is in `presets.ts`. */
export const PRESET_NAMES = ['factory'] as const;
