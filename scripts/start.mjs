// npm start: the whole product on this machine.
import { join } from 'node:path';
import { installWhenNeeded, root, runWithNode24 } from './node24.mjs';

if (!installWhenNeeded()) process.exit(1);
runWithNode24([join(root, 'apps/standalone/src/main.ts'), ...process.argv.slice(2)]);
