export const PRESET_NAMES = ['factory'] as const;
