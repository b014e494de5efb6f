/** As `.ci/run` runs tests: what takes too long is stopped, and named. */
import { mergeConfig } from 'vitest/config';
import config from '../vitest.config.ts';

export default mergeConfig(config, {
  test: {
    // Lists are added to what is there.
    setupFiles: ['./test/suite/patience.ts'],
    reporters: ['json'],
  },
});
