// The console, built for a gateway that serves it: again when a source has changed. Plain JavaScript that Node 20 can run, like node24.mjs.
import { cachedBuild } from './cached-build.mjs';

/** The setting of the gateway: a folder, or off. */
const CONSOLE = 'RUNLEDGER_CONSOLE';

/** Variables that name the folder of the built console to the gateway. None if somebody has set it; off, with the reason on stderr, if it cannot be built. */
export const builtConsole = () => {
  if (process.env[CONSOLE] !== undefined) return {};
  try {
    return { [CONSOLE]: cachedBuild({ name: 'runledger-console', maker: 'scripts/build/make-console.mjs' }) };
  } catch (error) {
    console.error(`Starting without the console, which cannot be built. ${error.message}`);
    return { [CONSOLE]: 'off' };
  }
};
