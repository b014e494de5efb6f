/** Loaded ahead of a program: writes the packages that it loads into the file that `LOADED_PACKAGES` names, one a line. */
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const file = process.env['LOADED_PACKAGES'];
if (file !== undefined) {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const [, name] =
        /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(resolved.url) ?? [];
      if (name !== undefined) appendFileSync(file, `${name}\n`);
      return resolved;
    },
  });
}
