import { join } from 'node:path';
import { visibleHost, type Isolation } from '../isolation/isolation.ts';

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
export const cacheEnvironment = (folder: string | null, env: Variables): Variables => {
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
