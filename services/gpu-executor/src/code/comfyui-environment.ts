import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '@runledger/resilience/errors';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { parsePlainJson } from '@runledger/contracts/json';
import { whyNotExecutable } from '../runners/operator-command.ts';
import type { ProcessHost } from '../runners/runner-type.ts';
import {
  environmentOf,
  hashOf,
  INSTALL_UV,
  indexOptions,
  LOCAL,
  notInstalled,
  viewOf,
  type Environment,
  type EnvironmentRun,
  COMPILE,
  runUv,
  type EnvironmentSettings,
} from './environment.ts';
import { failed, type NotPrepared, type PreparedFolders } from './prepared-folders.ts';
import { findTool } from './python.ts';

/** The ComfyUI of the machine, as its operator names it. */
export interface ComfyuiInstallation {
  /** With its `main.py`. */
  readonly folder: string;
  /** The Python that has its packages. */
  readonly python: string;
  /** Where these are. */
  readonly sites: readonly string[];
}

const Known = Type.Object({
  version: Type.String(),
  /** The one behind a virtual environment. */
  base: Type.String(),
  /** Where its packages are. */
  sites: Type.Array(Type.String()),
  /** Names and versions. */
  packages: Type.Array(Type.Tuple([Type.String(), Type.String()])),
});

/** What a Python says of itself. */
export type ComfyuiPython = Static<typeof Known> & { readonly executable: string };

const SCRIPT = `import json, platform, sys
from importlib.metadata import distributions
print(json.dumps({
    "version": platform.python_version(),
    "base": getattr(sys, "_base_executable", sys.executable),
    "sites": [each for each in sys.path if each.endswith(("site-packages", "dist-packages"))],
    "packages": sorted({(each.metadata["Name"], each.version or "") for each in distributions() if each.metadata["Name"]}),
}))`;

const ASK_WITHIN_MS = 60_000;
/** Its operator may change its packages. */
const HOLDS_MS = 60_000;
const asked = new Map<string, { readonly at: number; readonly known: Promise<ComfyuiPython | string> }>();

/** Or in a few words why it cannot be used. */
export const askComfyuiPython = (python: string): Promise<ComfyuiPython | string> => {
  const before = asked.get(python);
  if (before !== undefined && performance.now() - before.at < HOLDS_MS) return before.known;
  const known = ask(python);
  asked.set(python, { at: performance.now(), known });
  return known;
};

const ask = async (executable: string): Promise<ComfyuiPython | string> => {
  try {
    const { stdout } = await promisify(execFile)(executable, ['-I', '-c', SCRIPT], {
      timeout: ASK_WITHIN_MS,
      maxBuffer: 16 * 1024 ** 2,
    });
    const said = parsePlainJson(stdout);
    if (!Value.Check(Known, said)) return `${executable} does not say what it has`;
    return { ...said, base: await realpath(said.base), executable };
  } catch (error) {
    return `${executable} cannot be used: ${messageOf(error)}`;
  }
};

interface ComfyuiRun extends EnvironmentRun {
  /** Of the custom nodes, which may have a `requirements.txt`. */
  readonly nodes: ReadonlyMap<string, string>;
}

/**
 * What custom nodes need beside what ComfyUI has, in an environment that sees both. ComfyUI's own packages are never installed again, in no version: a node
 * that brings another PyTorch would break it.
 */
export const prepareComfyuiEnvironment = async (
  host: ProcessHost,
  settings: EnvironmentSettings,
  folders: PreparedFolders,
  installation: ComfyuiInstallation,
  run: ComfyuiRun,
): Promise<Environment | NotPrepared> => {
  const { org_id, code, manifest, nodes, stop } = run;
  const python = await askComfyuiPython(installation.python);
  if (typeof python === 'string')
    return failed(`The Python of the executor's ComfyUI cannot be used: ${python}.`, true);
  const files = [...nodes.values()]
    .map((node) => join(node, 'requirements.txt'))
    .filter((file) => existsSync(file));
  const tools = [python.base, python.executable];
  if (files.length === 0)
    return {
      folder: null,
      wasThere: true,
      bin: dirname(python.executable),
      sha256: null,
      python: python.executable,
      tools,
      code,
      [Symbol.dispose]: () => undefined,
    };
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const isLocal = texts.some((text) => LOCAL.test(text));
  // A node in an archive has the name of its hash.
  if (isLocal) texts.push(manifest.code_sha256, ...[...nodes.values()].map((node) => basename(node)));
  const has = python.packages.map(([name, version]) => `${name}==${version}`);
  const sha256 = hashOf(`comfyui ${python.version} ${python.sites.join(':')} ${has.join(' ')}`, texts);
  const uv = settings.uv ?? (await findTool('uv', host.env.PATH ?? ''));
  const made = await folders.use(
    { org_id, of: 'environments', key: sha256 },
    async (folder) => {
      if (uv === null || (await whyNotExecutable(uv)) !== null)
        return failed(
          `The executor has no uv, and cannot install the packages of custom nodes. ${INSTALL_UV}`,
          uv !== null,
        );
      run.onStep('installing packages of custom nodes');
      const tool = {
        command: uv,
        args: [python.base],
        env: {},
        readable: [...nodes.values(), ...(settings.wheelHouse === null ? [] : [settings.wheelHouse])],
        writable: [folder],
        path: host.env.PATH ?? '',
      };
      const end = await runUv(host, !isLocal, {
        org_id,
        folder,
        maxBytes: folders.maxBytes,
        view: viewOf(host, folders, tool),
        command: '/bin/sh',
        args: [
          '-c',
          INSTALL,
          'sh',
          ...indexOptions(settings),
          ...files.flatMap((file) => ['--requirements', file]),
        ],
        env: ({ temporary }) => ({
          UV: uv,
          PYTHON: python.base,
          // What is there already is wanted by nobody, whoever asks for it.
          KEPT: python.packages.map(([name]) => `${name} ; python_version < "0"`).join('\n'),
          KEPT_FILE: join(temporary, 'kept.txt'),
          SITES: python.sites
            .map((site) => `import site; site.addsitedir(${JSON.stringify(site)})`)
            .join('\n'),
          UV_PYTHON_DOWNLOADS: 'never',
        }),
        onLine: run.onLine,
        stop,
      });
      return notInstalled(end, 'The packages of the custom nodes cannot be installed');
    },
    stop,
    (folder) => existsSync(join(folder, 'bin/python')),
  );
  if (made.kind !== 'prepared') return made;
  const bin = join(made.path, 'bin');
  return environmentOf(made, { sha256, code, bin, tools, python: join(bin, 'python') });
};

/** A file with the ending .pth is read at the start of a Python, and what it names comes behind its own packages. */
const INSTALL = [
  '"$UV" venv --no-project --allow-existing --python "$PYTHON" "$ENVIRONMENT"',
  'printf "%s\\n" "$KEPT" > "$KEPT_FILE"',
  'printf "%s\\n" "$SITES" > "$("$ENVIRONMENT/bin/python" -I -c \'import site; print(site.getsitepackages()[0])\')/comfyui.pth"',
  'cd "$ENVIRONMENT" && "$UV" pip install --python "$ENVIRONMENT/bin/python" --overrides "$KEPT_FILE" $BUILD "$@"',
  COMPILE,
].join(' && ');
