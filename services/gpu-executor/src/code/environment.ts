import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, stat } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { arch, platform } from 'node:process';
import { promisify } from 'node:util';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { programView } from '../view/program-view.ts';
import { whyNotExecutable, type OperatorCommand } from '../runners/operator-command.ts';
import type { ProcessHost } from '../runners/runner-type.ts';
import type { View } from '../isolation/isolation.ts';
import { failed, type HeldFolder, type NotPrepared, type PreparedFolders } from './prepared-folders.ts';
import { findPython, findTool, type Python } from './python.ts';
import { removeTree } from '../folders/remove-tree.ts';
import { runTool, type ToolEnd, type ToolRun } from './run-tool.ts';

export interface EnvironmentSettings {
  /** Of uv; null: it is looked for on PATH when it is needed. */
  readonly uv: string | null;
  /** The URL of the package index; null for that of uv, `none` for no index. */
  readonly index: string | null;
  /** A folder with wheels; null without one. */
  readonly wheelHouse: string | null;
}

/** Whose version needs it. */
export interface EnvironmentRun {
  readonly org_id: string;
  /** The unpacked code. */
  readonly code: string;
  readonly manifest: CodeManifest;
  /** What happens, in a few words, and a line for the log of the run. */
  readonly onStep: (step: string) => void;
  readonly onLine: (line: string) => void;
  readonly stop: AbortSignal;
}

/** What code runs with. */
export interface Environment extends Disposable {
  /** What is installed; null where nothing is. */
  readonly folder: string | null;
  /** Nobody had to wait for it. */
  readonly wasThere: boolean;
  /** The programs of its packages. */
  readonly bin: string | null;
  /** What is installed in it: the same for all machines that make the same of the same files. Null where nothing is installed. */
  readonly sha256: string | null;
  /** The Python that has the packages; null when there is none and nothing says that there must be one. */
  readonly python: string | null;
  /** What of the machine it leads to: interpreters, by paths that no organisation has made. */
  readonly tools: readonly string[];
  /** In which the code is, when packages must be beside it, as for Node. */
  readonly code: string;
}

const nothingInstalled = (code: string, python: Python | null): Environment => ({
  folder: null,
  wasThere: true,
  bin: null,
  sha256: null,
  python: python?.executable ?? null,
  tools: python === null ? [] : [python.executable],
  code,
  [Symbol.dispose]: () => undefined,
});

/** The packages that a version needs, installed once for an organisation, and its interpreter. */
export const prepareEnvironment = async (
  host: ProcessHost,
  settings: EnvironmentSettings,
  folders: PreparedFolders,
  run: EnvironmentRun,
): Promise<Environment | NotPrepared> => {
  const { manifest, code } = run;
  const { PATH = '' } = host.env;
  const { requirements } = manifest;
  const file = requirements === undefined ? null : join(code, requirements);
  if (file !== null && !(await isFile(file)))
    return failed(`The code of the version has no file ${requirements}, which "requirements" names.`);
  if (file !== null && basename(file) === 'package.json')
    return withPackages(host, folders, { ...run, file, path: PATH });
  const python = await findPython(manifest.python, PATH);
  // Code for something else needs none.
  if (file === null && manifest.python === undefined)
    return nothingInstalled(code, typeof python === 'string' ? null : python);
  if (typeof python === 'string') return failed(`The Python of the executor cannot be used: ${python}.`);
  if (file === null && python !== null) return nothingInstalled(code, python);
  return withPython(host, settings, folders, { ...run, file, python, path: PATH });
};

interface PythonRun extends EnvironmentRun {
  /** Null: only another Python is wanted. */
  readonly file: string | null;
  /** Null: uv fetches it. */
  readonly python: Python | null;
  readonly path: string;
}

const withPython = async (
  host: ProcessHost,
  settings: EnvironmentSettings,
  folders: PreparedFolders,
  run: PythonRun,
): Promise<Environment | NotPrepared> => {
  const { org_id, code, file, python, manifest, path, stop } = run;
  const wanted = manifest.python ?? '3';
  const sha256 = await keyOf(run, `python ${python?.version ?? wanted}`);
  const uv = settings.uv ?? (await findTool('uv', path));
  const made = await folders.use(
    { org_id, of: 'environments', key: sha256 },
    async (folder) => {
      if (uv === null || (await whyNotExecutable(uv)) !== null) return noUv(settings, run);
      if (python === null && settings.index === 'none')
        return failed(
          `The executor has no python${wanted} on its PATH, and may fetch none (EXECUTOR_PYTHON_INDEX is none). Its operator can install one.`,
        );
      run.onStep(file === null ? 'fetching Python' : 'installing packages');
      const lock =
        file !== null && basename(file) === 'pyproject.toml' && existsSync(join(dirname(file), 'uv.lock'));
      const tool: OperatorCommand = {
        command: uv,
        // They lead the view to what they are, and nothing in a folder of an organisation leads anywhere.
        args: python === null ? [] : [python.base],
        env: {},
        readable: [code, ...(settings.wheelHouse === null ? [] : [settings.wheelHouse])],
        writable: [folder],
        path,
      };
      const isPlain = python !== null && (file === null || lock || !(await buildsItself(file)));
      const end = await runUv(host, isPlain, {
        org_id,
        folder,
        maxBytes: folders.maxBytes,
        view: viewOf(host, folders, tool),
        command: '/bin/sh',
        args: ['-c', scriptOf(file, lock), 'sh', ...indexOptions(settings)],
        env: ({ cache, temporary }) => ({
          UV: uv,
          PYTHON: python?.base ?? wanted,
          ...(file === null ? {} : { REQUIREMENTS: lock ? join(temporary, 'requirements.txt') : file }),
          PROJECT: file === null ? code : dirname(file),
          UV_PYTHON_DOWNLOADS: python === null ? 'automatic' : 'never',
          UV_PYTHON_INSTALL_DIR: join(folder, 'python'),
          UV_PYTHON_CACHE_DIR: join(cache, 'uv-python'),
          UV_PYTHON_INSTALL_BIN: '0',
        }),
        onLine: run.onLine,
        stop,
      });
      return notInstalled(end, 'The packages of the version cannot be installed');
    },
    stop,
    // Its Python may be gone, as after an update of the machine.
    (folder) => existsSync(join(folder, 'bin/python')),
  );
  if (made.kind !== 'prepared') return made;
  const bin = join(made.path, 'bin');
  const tools = python === null ? [] : [python.base];
  return environmentOf(made, { sha256, code, bin, tools, python: join(bin, 'python') });
};

export const environmentOf = (
  held: HeldFolder,
  of: Omit<Environment, 'folder' | 'wasThere' | keyof Disposable>,
): Environment => ({
  ...of,
  folder: held.path,
  wasThere: held.wasThere,
  [Symbol.dispose]: () => held[Symbol.dispose](),
});

/** With `$@` for where packages come from. */
const scriptOf = (file: string | null, hasLock: boolean): string => {
  const steps = [
    '"$UV" venv --no-project --allow-existing --python "$PYTHON" "$ENVIRONMENT"',
    // The versions and hashes of the lock, from the index of the executor.
    ...(hasLock
      ? [
          'cd "$PROJECT" && "$UV" export --quiet --frozen --no-dev --no-emit-local --no-header --python "$ENVIRONMENT/bin/python" --output-file "$REQUIREMENTS" >/dev/null',
        ]
      : []),
    ...(file === null
      ? []
      : [
          'cd "$PROJECT" && "$UV" pip install --python "$ENVIRONMENT/bin/python" $BUILD "$@" --requirements "$REQUIREMENTS"',
        ]),
    COMPILE,
  ];
  return steps.join(' && ');
};

/** Nothing is compiled later: programs cannot write there. By a Python that reads the packages, and executes nothing of them, not even a `.pth`. */
export const COMPILE =
  '{ [ -z "$BUILD" ] || "$PYTHON" -I -S -m compileall -qq "$ENVIRONMENT/lib" >/dev/null 2>&1 || true; }';

/**
 * Runs a script with uv that has `$BUILD` in its `uv pip install`, and `COMPILE` at its end. The cache of uv stays for later environments of the
 * organisation, and uv takes what is in it as it is. So while it is there nothing of a package is executed: only wheels are installed. What must be built
 * begins anew, with a cache of its own, as what `isPlain` does not say of.
 */
export const runUv = async (
  host: ProcessHost,
  isPlain: boolean,
  tool: Omit<ToolRun, 'hasCache'>,
): Promise<ToolEnd> => {
  const run = (hasCache: boolean, variables: Readonly<Record<string, string>>): Promise<ToolEnd> =>
    runTool(host, {
      ...tool,
      hasCache,
      env: (folders) => ({
        ENVIRONMENT: tool.folder,
        UV_CACHE_DIR: join(folders.cache, 'uv'),
        // A file of an environment is no file of the cache.
        UV_LINK_MODE: 'copy',
        UV_NO_PROGRESS: '1',
        UV_SYSTEM_CERTS: '1',
        ...tool.env(folders),
        ...variables,
      }),
    });
  if (isPlain) {
    const end = await run(true, { BUILD: '--no-build' });
    if (end.kind !== 'failed' || !MUST_BE_BUILT.test(end.said)) return end;
    tool.onLine('a package has no wheel, and is built: nothing of the cache is used for that');
    await removeTree(tool.folder, host.log);
    await mkdir(tool.folder);
  }
  return run(false, { BUILD: '', UV_COMPILE_BYTECODE: '1' });
};

const MUST_BE_BUILT = /building from source is disabled|Building source distributions is disabled/i;

/** Whether a file names something that uv builds although it was told to build nothing, or another file that may. */
const buildsItself = async (file: string): Promise<boolean> => {
  const text = await readFile(file, 'utf8');
  return basename(file) === 'pyproject.toml' ? OWN_SOURCES.test(text) : LOCAL.test(text);
};
const OWN_SOURCES = /tool\s*\.\s*uv|editable/;

export const indexOptions = ({ index, wheelHouse }: EnvironmentSettings): string[] => [
  ...(index === 'none' ? ['--no-index'] : index === null ? [] : ['--default-index', index]),
  ...(wheelHouse === null ? [] : ['--find-links', wheelHouse]),
];

/** What its operator can do. */
export const INSTALL_UV =
  'Its operator can install uv on the PATH of the executor (pip install uv), or name it in EXECUTOR_UV.';

const noUv = ({ uv }: EnvironmentSettings, { manifest }: EnvironmentRun): NotPrepared => {
  const what =
    manifest.requirements === undefined
      ? `Python ${manifest.python}`
      : `the packages of ${manifest.requirements}`;
  return uv === null
    ? failed(`The executor has no uv, and cannot install ${what}. ${INSTALL_UV}`)
    : failed(
        `The executor cannot install ${what}: EXECUTOR_UV names ${basename(uv)}, which is not there, or is still being downloaded.`,
        true,
      );
};

/** Another try may reach what did not answer. */
const UNREACHABLE =
  /error sending request|client error \(Connect\)|Request failed after \d+ retries|dns error|operation timed out|connection (?:refused|reset|closed)|HTTP status server error|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT/i;
const NO_ROOM = /No space left on device|\bENOSPC\b/;

export const notInstalled = (end: ToolEnd, what: string): NotPrepared | null => {
  if (end.kind === 'done') return null;
  if (end.kind === 'stopped') return end;
  const hint = REFUSED_BY_POLICY.test(end.said) ? `${ALLOW}\n` : '';
  return failed(`${what}: ${hint}${end.said}`, UNREACHABLE.test(end.said) || NO_ROOM.test(end.said));
};

/** The executor's own proxy refuses an address. */
const REFUSED_BY_POLICY = /tunnel error/i;
const ALLOW =
  'an index with an address that is not public must be in EXECUTOR_NETWORK_ALLOW of the executor.';

/** What an organisation has made leads to nothing of the machine but a Python. */
export const viewOf = (
  { supervisors: { withheld } }: ProcessHost,
  { path }: PreparedFolders,
  tool: OperatorCommand,
): View => programView(tool, { device: '' }, { ...withheld, written: [...withheld.written, path] });

/** In a requirements file: what is of the code itself, so that another code has other packages. */
export const LOCAL = /^\s*(?:-[rce]\b|--(?:requirements?|constraints?|editable)\b|\.|\/)|file:|@\s*\./m;

const keyOf = async ({ file, manifest }: PythonRun, interpreter: string): Promise<string> => {
  if (file === null) return hashOf(interpreter, []);
  const texts = [await readFile(file, 'utf8')];
  if (basename(file) === 'pyproject.toml') {
    const lock = join(dirname(file), 'uv.lock');
    if (existsSync(lock)) texts.push(await readFile(lock, 'utf8'));
  } else if (LOCAL.test(texts[0] ?? '')) texts.push(manifest.code_sha256);
  return hashOf(interpreter, texts);
};

export const hashOf = (interpreter: string, texts: readonly string[]): string => {
  const hash = createHash('sha256').update(`${interpreter}\0${platform}-${arch}\0`);
  for (const text of texts) hash.update(`${Buffer.byteLength(text)}\0${text}`);
  return hash.digest('hex');
};

const isFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isFile() === true;

/** For Node, which looks for packages above the code only: a copy of the code, with its packages in it. */
const withPackages = async (
  host: ProcessHost,
  folders: PreparedFolders,
  run: EnvironmentRun & { readonly file: string; readonly path: string },
): Promise<Environment | NotPrepared> => {
  const { org_id, code, file, manifest, path, stop } = run;
  const lock = ['package-lock.json', 'npm-shrinkwrap.json'].find((name) =>
    existsSync(join(dirname(file), name)),
  );
  if (lock === undefined)
    return failed(
      `The code of the version has no package-lock.json beside ${manifest.requirements}: npm makes it.`,
    );
  const [node, npm] = [await findTool('node', path), await findTool('npm', path)];
  if (node === null || npm === null)
    return failed(
      `The executor has no ${node === null ? 'node' : 'npm'} on its PATH, and cannot install the packages of ${manifest.requirements}. Its operator can install it.`,
    );
  const texts = await Promise.all([file, join(dirname(file), lock)].map((each) => readFile(each, 'utf8')));
  const version = await promisify(execFile)(node, ['--version']).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  );
  const sha256 = hashOf(`node ${version}`, texts);
  const made = await folders.use(
    { org_id, of: 'environments', key: hashOf(sha256, [manifest.code_sha256, manifest.requirements ?? '']) },
    async (folder) => {
      run.onStep('installing packages');
      await cp(code, folder, { recursive: true, verbatimSymlinks: true });
      const tool = { command: node, args: [npm], env: {}, writable: [folder], path };
      const end = await runTool(host, {
        org_id,
        // npm checks the hashes of the lock for what it takes from its cache.
        hasCache: true,
        folder,
        maxBytes: folders.maxBytes,
        view: viewOf(host, folders, tool),
        command: '/bin/sh',
        args: [
          '-c',
          'cd "$PROJECT" && exec "$NPM" ci --omit=dev --ignore-scripts=false --no-audit --no-fund',
        ],
        env: ({ cache }) => ({
          NPM: npm,
          PROJECT: join(folder, dirname(manifest.requirements ?? '')),
          PATH: [dirname(node), path].join(delimiter),
          npm_config_cache: join(cache, 'npm'),
          npm_config_update_notifier: 'false',
        }),
        onLine: run.onLine,
        stop,
      });
      return notInstalled(end, 'The packages of the version cannot be installed');
    },
    stop,
  );
  if (made.kind !== 'prepared') return made;
  const bin = join(made.path, dirname(manifest.requirements ?? ''), 'node_modules/.bin');
  const python = await findPython(undefined, path);
  const executable = python === null || typeof python === 'string' ? null : python.executable;
  const tools = [node, ...(executable === null ? [] : [executable])];
  return environmentOf(made, { sha256, code: made.path, bin, tools, python: executable });
};
