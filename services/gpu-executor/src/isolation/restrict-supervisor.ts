import { readFileSync, writeFileSync } from 'node:fs';
import type { NetworkAccess } from './isolation.ts';
import { obeyLandlock, type Openable } from './landlock.ts';
import { openSystemCalls, type Rlimits } from './system-calls.ts';

/** What a supervisor does before it starts a program. Executor and supervisor are of one release. */
export interface SupervisorSetup {
  /** Null for one that sees what its user sees. */
  readonly isolation: {
    /** Null where only what may be seen is mounted, or nothing is hidden. */
    readonly openable: Openable | null;
    /** Folders of its own namespaces, which a program may leave something in. */
    readonly memoryFolders: readonly string[];
  } | null;
  /** Of what it starts; `host` for one that sees what its user sees. */
  readonly network: NetworkAccess;
  readonly rlimits: Rlimits;
}

export const parseSetup = (text = ''): SupervisorSetup => {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(text) as SupervisorSetup;
};

/** Of what the kernel may end when the memory of the machine is full; 0 is an ordinary process, 1000 is the first to go. */
const OOM_SCORE = 500;
const OOM_SCORE_FILE = '/proc/self/oom_score_adj';

/**
 * From now on, programs that this thread starts have no more rights than these, and cannot look into this process. `proxyPort` is where they find
 * the proxy, if they have one.
 */
export const restrictSupervisor = (
  { isolation, rlimits }: SupervisorSetup,
  proxyPort: number | null,
): void => {
  // Nobody may lower it.
  if (Number(readFileSync(OOM_SCORE_FILE, 'utf8')) < OOM_SCORE)
    writeFileSync(OOM_SCORE_FILE, String(OOM_SCORE));
  if (isolation === null && rlimits.length === 0) return;
  const calls = openSystemCalls();
  for (const { resource, value } of rlimits) calls.limit(resource, value);
  if (isolation === null) return;
  calls.hideProcess();
  calls.giveUpNewPrivileges();
  calls.limit('coreBytes', 0);
  if (isolation.openable !== null) obeyLandlock(calls, withPort(isolation.openable, proxyPort));
  calls.giveUpCapabilities();
};

const withPort = (openable: Openable, port: number | null): Openable =>
  port === null ? openable : { ...openable, ports: [port] };
