/**
 * Attacks until it is ended: `node attacker-process.ts NAME TARGET`, the target as JSON. Prints a line when it is under way.
 */
import { ATTACKS, type AttackName, type Target } from './attacks.ts';

const [name, target = ''] = process.argv.slice(2);
// Connections that nobody reads from do not keep a process running.
setInterval(() => undefined, 60_000);
await ATTACKS[name as AttackName](JSON.parse(target) as Target);
process.stdout.write('under way\n');
