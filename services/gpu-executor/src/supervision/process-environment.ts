import { cacheEnvironment } from '../caches/cache-environment.ts';
import { USER_NAME } from '../isolation/names.decide.ts';
import { formatMark, MARK_VARIABLE, type Mark } from './process-mark.ts';

/** The part of the executor's environment that a workflow may see. */
export interface HostEnvironment {
  readonly PATH?: string | undefined;
  readonly HOME?: string | undefined;
  readonly LANG?: string | undefined;
  readonly TZ?: string | undefined;
  readonly OMP_NUM_THREADS?: string | undefined;
}

export interface EnvironmentParts {
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
}: EnvironmentParts): Record<string, string> => ({
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
