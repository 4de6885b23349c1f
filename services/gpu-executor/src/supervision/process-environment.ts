import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { USER_NAME } from '../isolation/names.decide.ts';
import { formatMark, MARK_VARIABLE, type Mark } from './stray-processes.ts';
import { visibleHost, type Isolation } from '../isolation/isolation.ts';

/** The part of the executor's environment that a workflow may see. */
export interface HostEnvironment {
  readonly PATH?: string | undefined;
  readonly HOME?: string | undefined;
  readonly LANG?: string | undefined;
  readonly TZ?: string | undefined;
  readonly OMP_NUM_THREADS?: string | undefined;
}

/**
 * What every process of a workflow has in its environment. It inherits nothing from the executor, whose environment has credentials; what it
 * needs beyond this its operator sets.
 */
export const processEnvironment = ({
  host,
  env,
  device,
  libraries = [],
  temporary,
  cache,
  mark,
}: {
  readonly host: HostEnvironment;
  /** What the operator set for it. */
  readonly env: Readonly<Record<string, string>>;
  /** The `CUDA_VISIBLE_DEVICES` of its slot. */
  readonly device: string;
  /** Where the libraries of its driver are; the linker knows when it is left out. */
  readonly libraries?: readonly string[] | undefined;
  /** The folder for its temporary files. */
  readonly temporary: string;
  /** The folder that stays when it has ended; null without one. */
  readonly cache: string | null;
  readonly mark: Mark;
}): Record<string, string> => ({
  PATH: host.PATH ?? '/usr/local/bin:/usr/bin:/bin',
  HOME: host.HOME ?? temporary,
  LANG: host.LANG ?? 'C.UTF-8',
  // Libraries ask for a name. Its user may have none, where nothing can be mounted for it.
  USER: USER_NAME,
  LOGNAME: USER_NAME,
  ...(host.TZ === undefined ? {} : { TZ: host.TZ }),
  // OpenBLAS, MKL, torch and numexpr heed it too.
  ...(host.OMP_NUM_THREADS === undefined ? {} : { OMP_NUM_THREADS: host.OMP_NUM_THREADS }),
  ...cacheEnvironment(cache, env),
  ...env,
  ...(libraries.length > 0 && {
    LD_LIBRARY_PATH: [env['LD_LIBRARY_PATH'] ?? '', ...libraries].filter((each) => each !== '').join(':'),
  }),
  TMPDIR: temporary,
  // Indices then mean what nvidia-smi shows; CUDA's own order puts the fastest card first.
  CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
  CUDA_VISIBLE_DEVICES: device,
  [MARK_VARIABLE]: formatMark(mark),
});

/** What programs inherit of this executor and its machine. */
export const hostEnvironment = (
  config: HostEnvironment & { readonly EXECUTOR_RUN_CPUS?: number | undefined },
  slots: number,
): HostEnvironment => {
  const { PATH, HOME, LANG, TZ, OMP_NUM_THREADS, EXECUTOR_RUN_CPUS: cpus } = config;
  return {
    PATH,
    HOME,
    LANG,
    TZ: TZ ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    OMP_NUM_THREADS: OMP_NUM_THREADS ?? fairThreads({ cores: availableParallelism(), slots, cpus }),
  };
};

/**
 * Every numerical library makes a thread for each processor, in each slot. Undefined where there is nothing to share: such a library knows best what it
 * does alone, as torch, which leaves the second thread of each core.
 */
export const fairThreads = ({
  cores,
  slots,
  cpus,
}: {
  readonly cores: number;
  readonly slots: number;
  /** That a program may keep busy; undefined for all. */
  readonly cpus: number | undefined;
}): string | undefined => {
  if (slots <= 1 && cpus === undefined) return undefined;
  const part = Math.floor(cores / Math.max(1, slots));
  return String(Math.max(1, Math.min(part, Math.ceil(cpus ?? part))));
};

type Variables = Readonly<Record<string, string>>;

/** The folder itself, for what no variable below is for. */
const CACHE_VARIABLE = 'RUNLEDGER_CACHE_DIR';
const XDG = 'XDG_CACHE_HOME';

/** Libraries that keep what they have compiled or fetched, and where in the folder. */
const BY_NAME = {
  CUDA_CACHE_PATH: 'cuda',
  CUPY_CACHE_DIR: 'cupy',
  KERAS_HOME: 'keras',
  MPLCONFIGDIR: 'matplotlib',
  NUMBA_CACHE_DIR: 'numba',
  TORCHINDUCTOR_CACHE_DIR: 'torchinductor',
  TRITON_CACHE_DIR: 'triton',
} as const;
/** These follow the setting of all, wherever it leads. */
const BY_XDG = { HF_HOME: 'huggingface', TORCH_HOME: 'torch' } as const;

/** The variables by which a process finds its cache, beside those that its operator sets. */
const cacheEnvironment = (folder: string | null, env: Variables): Variables => {
  if (folder === null) return {};
  const libraries = { ...BY_NAME, ...(XDG in env ? {} : BY_XDG) };
  const places = Object.entries(libraries).map(([variable, name]) => [variable, join(folder, name)] as const);
  return { [CACHE_VARIABLE]: folder, [XDG]: folder, ...Object.fromEntries(places) };
};

/** By which name a client sees the folder. */
export const namedCache = ({ cache }: { readonly cache: string | null }): Variables =>
  cache === null ? {} : { [CACHE_VARIABLE]: cache };

/** Libraries keep their caches below the home folder: where that stays, so do they, with what is in them. */
export const hasLastingHome = (
  isolation: Isolation,
  host: { readonly HOME?: string | undefined },
  env: Variables,
): boolean => 'HOME' in env || visibleHost(isolation, host).HOME !== undefined;
