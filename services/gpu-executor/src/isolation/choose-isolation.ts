import { delimiter, isAbsolute, join } from 'node:path';
import { messageOf } from '@runledger/resilience/errors';
import { bubblewrapOptions } from './bubblewrap.ts';
import { probeContainment, processGroup, whyNoNamespace, type Isolation } from './isolation.ts';
import { realPath, realPaths } from '../view/real-paths.ts';
import { whyNoFilter } from './seccomp.ts';
import { INSTALLATION } from './supervisor-code.ts';
import { openSystemCalls } from './system-calls.ts';
import { ownUser, type Users } from './users.ts';

export interface IsolationWanted {
  /** False on machines where it disturbs the programs. */
  readonly isWanted: boolean;
  /** The folders in which bubblewrap is looked for. */
  readonly path: string;
  /** Files and folders that no program may see, wherever they are. */
  readonly hidden: readonly string[];
  readonly users: Users;
}

/** The best that this machine allows, tried once, at the start. */
export const chooseIsolation = async (
  { isWanted, path, hidden, users }: IsolationWanted,
  probes: readonly (Probe<'bubblewrap'> | Probe<'landlock'>)[] = [probeBubblewrap, probeLandlock],
): Promise<Isolation> => {
  if (!isWanted) return noIsolation('EXECUTOR_ISOLATION is off', users);
  const paths = realPaths([INSTALLATION, ...hidden]);
  const refusals: string[] = [];
  for (const probe of probes) {
    const probed = await probe({ path, hidden: [...new Set(paths)], before: refusals.join('; '), users });
    if (typeof probed !== 'string') return probed;
    refusals.push(probed);
  }
  const containment = await probeContainment(users);
  return { kind: 'none', containment, why: refusals.join('; '), users, unfiltered: whyNoFilter() };
};

export const noIsolation = (why: string, users: Users = ownUser): Isolation => ({
  kind: 'off',
  containment: processGroup(why),
  why,
  users,
  unfiltered: why,
});

interface Probed extends Pick<IsolationWanted, 'path' | 'hidden' | 'users'> {
  /** Why what would be better does not work. */
  readonly before: string;
}

type Probe<Kind extends Isolation['kind']> = (
  probed: Probed,
) => Promise<Extract<Isolation, { readonly kind: Kind }> | string>;

/** An isolation, or why it does not work here. */
export const probeBubblewrap: Probe<'bubblewrap'> = async ({ path, hidden, users }) => {
  const command = path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, 'bwrap'))
    .find((file) => realPath(file) !== null);
  if (command === undefined) return 'bwrap is not on PATH (apt-get install bubblewrap)';
  const whyNot = whyNoSystemCalls();
  if (whyNot !== null) return whyNot;
  const isolation = { kind: 'bubblewrap', command, hidden, users, unfiltered: whyNoFilter() } as const;
  const nothing = { readable: [], writable: [], scratch: [], resources: {} };
  const view = { ...nothing, network: 'none', cards: true } as const;
  const refusal = await whyNoNamespace(command, bubblewrapOptions(isolation, view, null));
  return refusal === null ? isolation : `bubblewrap does not work: ${refusal}`;
};

export const probeLandlock: Probe<'landlock'> = async ({ hidden, before, users }) => {
  const whyNot = whyNoSystemCalls();
  if (whyNot !== null) return whyNot;
  const version = openSystemCalls().landlockVersion();
  if (version === 0) return 'the kernel has no Landlock';
  const containment = await probeContainment(users);
  return { kind: 'landlock', version, hidden, containment, why: before, users, unfiltered: whyNoFilter() };
};

const whyNoSystemCalls = (): string | null => {
  try {
    openSystemCalls();
    return null;
  } catch (error) {
    return `the C library cannot be called: ${messageOf(error)}`;
  }
};
