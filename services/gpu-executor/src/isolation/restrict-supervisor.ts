import { obeyLandlock, type Openable } from './landlock.ts';
import { openSystemCalls } from './system-calls.ts';

/** What a supervisor does before it starts a program. Executor and supervisor are of one release. */
export interface SupervisorSetup {
  /** Null where only what may be seen is mounted. */
  readonly openable: Openable | null;
  /** Folders of its own namespaces, which a program may leave something in. */
  readonly memoryFolders: readonly string[];
}

/** Null for a supervisor that restricts nothing. */
export const parseSetup = (text = ''): SupervisorSetup | null => {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(text) as SupervisorSetup | null;
};

/** From now on, programs that this thread starts have no more rights than these, and cannot look into this process. */
export const restrictSupervisor = ({ openable }: SupervisorSetup): void => {
  const calls = openSystemCalls();
  calls.hideProcess();
  calls.giveUpNewPrivileges();
  calls.limit('coreBytes', 0);
  if (openable === null) return;
  obeyLandlock(calls, openable);
  calls.giveUpCapabilities();
};
