import { delimiter, isAbsolute, join } from 'node:path';
import { bubblewrapOptions } from './bubblewrap.ts';
import { probeContainment, processGroup, whyNoNamespace } from './containment.ts';
import { hiddenPaths, realPath } from './hidden-paths.ts';
import type { Isolation } from './isolation.ts';
import { INSTALLATION } from './supervisor-code.ts';
import { openSystemCalls } from './system-calls.ts';

export interface IsolationWanted {
  /** `off` is for machines where it disturbs the programs. */
  readonly setting: 'auto' | 'required' | 'off';
  /** The folders in which bubblewrap is looked for. */
  readonly path: string;
  /** Files and folders that no program may see, wherever they are. */
  readonly hidden: readonly string[];
}

/**
 * The best that this machine allows, tried once, at the start.
 * @throws when isolation is required and there is none
 */
export const chooseIsolation = async (
  { setting, path, hidden }: IsolationWanted,
  probes: readonly (Probe<'bubblewrap'> | Probe<'landlock'>)[] = [probeBubblewrap, probeLandlock],
): Promise<Isolation> => {
  if (setting === 'off') return noIsolation('EXECUTOR_ISOLATION is off');
  const paths = hiddenPaths([INSTALLATION, ...hidden]);
  const refusals: string[] = [];
  for (const probe of probes) {
    const probed = await probe(path, paths, refusals.join('; '));
    if (typeof probed !== 'string') return probed;
    refusals.push(probed);
  }
  const why = refusals.join('; ');
  if (setting === 'required')
    throw new Error(
      `EXECUTOR_ISOLATION is required, and this machine cannot isolate programs: ${why}. ` +
        'Install bubblewrap (apt-get install bubblewrap), or use Linux 5.13 or later with Landlock.',
    );
  return { kind: 'none', containment: await probeContainment(), why };
};

export const noIsolation = (why: string): Isolation => ({
  kind: 'none',
  containment: processGroup(why),
  why,
});

type Probe<Kind extends Isolation['kind']> = (
  path: string,
  hidden: readonly string[],
  before: string,
) => Promise<Extract<Isolation, { readonly kind: Kind }> | string>;

/** An isolation, or why it does not work here. */
export const probeBubblewrap: Probe<'bubblewrap'> = async (path, hidden) => {
  const command = path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, 'bwrap'))
    .find((file) => realPath(file) !== null);
  if (command === undefined) return 'bwrap is not on PATH (apt-get install bubblewrap)';
  const whyNot = whyNoSystemCalls();
  if (whyNot !== null) return whyNot;
  const view = { readable: [], writable: [], network: true, cards: true, resources: {} };
  const refusal = await whyNoNamespace(command, bubblewrapOptions(view, null, hidden));
  return refusal === null ? { kind: 'bubblewrap', command, hidden } : `bubblewrap does not work: ${refusal}`;
};

export const probeLandlock: Probe<'landlock'> = async (_path, hidden, before) => {
  const whyNot = whyNoSystemCalls();
  if (whyNot !== null) return whyNot;
  const version = openSystemCalls().landlockVersion();
  if (version === 0) return 'the kernel has no Landlock';
  return { kind: 'landlock', version, hidden, containment: await probeContainment(), why: before };
};

const whyNoSystemCalls = (): string | null => {
  try {
    openSystemCalls();
    return null;
  } catch (error) {
    return `the C library cannot be called: ${error instanceof Error ? error.message : String(error)}`;
  }
};
