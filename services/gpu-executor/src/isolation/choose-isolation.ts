import { delimiter, isAbsolute, join } from 'node:path';
import { ConfigError } from '@runledger/service-kit/config/config';
import { bubblewrapOptions } from './bubblewrap.ts';
import { probeContainment, processGroup, whyNoNamespace } from './containment.ts';
import { hiddenPaths, realPath } from './hidden-paths.ts';
import type { Isolation } from './isolation.ts';
import type { User } from './run-as.ts';
import { INSTALLATION } from './supervisor-code.ts';
import { openSystemCalls } from './system-calls.ts';

export interface IsolationWanted {
  /** `off` is for machines where it disturbs the programs. */
  readonly setting: 'auto' | 'required' | 'off';
  /** The folders in which bubblewrap is looked for. */
  readonly path: string;
  /** Files and folders that no program may see, wherever they are. */
  readonly hidden: readonly string[];
  /** Null: the user of the executor. */
  readonly user: User | null;
}

/**
 * The best that this machine allows, tried once, at the start.
 * @throws {ConfigError} when isolation is required and there is none
 */
export const chooseIsolation = async (
  { setting, path, hidden, user }: IsolationWanted,
  probes: readonly (Probe<'bubblewrap'> | Probe<'landlock'>)[] = [probeBubblewrap, probeLandlock],
): Promise<Isolation> => {
  if (setting === 'off') return noIsolation('EXECUTOR_ISOLATION is off', user);
  const paths = hiddenPaths([INSTALLATION, ...hidden], user);
  const refusals: string[] = [];
  for (const probe of probes) {
    const probed = await probe({ path, hidden: paths, before: refusals.join('; '), user });
    if (typeof probed !== 'string') return probed;
    refusals.push(probed);
  }
  const why = refusals.join('; ');
  if (setting === 'required')
    throw new ConfigError([
      {
        variable: 'EXECUTOR_ISOLATION',
        wrong: `= "required" cannot be met on this machine: ${why}`,
        right:
          'auto, unless you install bubblewrap (apt-get install bubblewrap) and let it make namespaces, or use Linux 5.13 or later with Landlock',
      },
    ]);
  return { kind: 'none', containment: await probeContainment(user), why, user };
};

export const noIsolation = (why: string, user: User | null = null): Isolation => ({
  kind: 'none',
  containment: processGroup(why),
  why,
  user,
});

interface Probed extends Pick<IsolationWanted, 'path' | 'hidden' | 'user'> {
  /** Why what would be better does not work. */
  readonly before: string;
}

type Probe<Kind extends Isolation['kind']> = (
  probed: Probed,
) => Promise<Extract<Isolation, { readonly kind: Kind }> | string>;

/** An isolation, or why it does not work here. */
export const probeBubblewrap: Probe<'bubblewrap'> = async ({ path, hidden, user }) => {
  const command = path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, 'bwrap'))
    .find((file) => realPath(file) !== null);
  if (command === undefined) return 'bwrap is not on PATH (apt-get install bubblewrap)';
  const whyNot = whyNoSystemCalls();
  if (whyNot !== null) return whyNot;
  const view = {
    readable: [],
    writable: [],
    scratch: [],
    network: 'none',
    cards: true,
    resources: {},
  } as const;
  const refusal = await whyNoNamespace(command, bubblewrapOptions(view, null, hidden), user);
  return refusal === null
    ? { kind: 'bubblewrap', command, hidden, user }
    : `bubblewrap does not work: ${refusal}`;
};

export const probeLandlock: Probe<'landlock'> = async ({ hidden, before, user }) => {
  const whyNot = whyNoSystemCalls();
  if (whyNot !== null) return whyNot;
  const version = openSystemCalls().landlockVersion();
  if (version === 0) return 'the kernel has no Landlock';
  return { kind: 'landlock', version, hidden, containment: await probeContainment(user), why: before, user };
};

const whyNoSystemCalls = (): string | null => {
  try {
    openSystemCalls();
    return null;
  } catch (error) {
    return `the C library cannot be called: ${error instanceof Error ? error.message : String(error)}`;
  }
};
