/** Names in both dialects (http-api-completion.md 1). Rows use `svc`. */
import { DIALECTS, type DialectName } from '../../client/dialect.ts';

export class Names {
  readonly dialect: DialectName;
  readonly isSwarm: boolean;

  constructor(dialect: DialectName) {
    this.dialect = dialect;
    this.isSwarm = dialect === 'swarm';
  }

  /** `svc-tag` → `swarm-tag`. */
  header(name: string): string {
    return name.replace(/^svc-/, DIALECTS[this.dialect].headerPrefix);
  }

  /** A header as parse errors name it: `Swarm-Tag`. */
  declared(name: string): string {
    return this.header(name).replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
  }

  /** `/svc/{reference}` → `/bzz/{reference}`. */
  path(path: string): string {
    return path.replace(/^\/svc(?=\/|$|\?)/, DIALECTS[this.dialect].files);
  }

  /** The value for this dialect, where a rule has one for each. */
  either<T>(svc: T, swarm: T): T {
    return this.isSwarm ? swarm : svc;
  }
}
