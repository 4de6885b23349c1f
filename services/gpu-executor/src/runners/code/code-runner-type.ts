import { existsSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { runnerKindOf } from '@runledger/contracts/catalogue/runners';
import type { ConfigProblem } from '@runledger/service-kit/config';
import { Type } from 'typebox';
import { askComfyuiPython, type ComfyuiInstallation } from '../../code/comfyui-environment.ts';
import { openPreparedFolders } from '../../code/prepared-folders.ts';
import { dedicatedOf, readOrganisations, type Organisations } from '../operator-command.ts';
import { COMFYUI_SILENCE_S } from '../comfyui/comfyui-runner.ts';
import type { RunnerType } from '../runner-type.ts';
import { codeRunner } from './code-runner.ts';

const settings = {
  EXECUTOR_CODE: Type.String({
    default: 'none',
    description:
      'whose code of versions this executor runs: none, all, or ids of organisations, separated by commas; it installs the packages that such code needs',
  }),
  EXECUTOR_CODE_BYTES: Type.Integer({
    default: 64 * 1024 ** 3,
    minimum: 0,
    description:
      'bytes in the work folder for the code of versions, with packages and models: what was used longest ago is removed, but nothing that is in use',
  }),
  EXECUTOR_UV: Type.Optional(
    Type.String({
      description: 'the path of uv, which installs packages of Python; without it the one on PATH',
    }),
  ),
  EXECUTOR_PYTHON_INDEX: Type.Optional(
    Type.String({
      description:
        'the URL of the index with packages of Python, or none for no index; without it that of uv, which is PyPI; programs of the packages can read it',
    }),
  ),
  EXECUTOR_COMFYUI_FOLDER: Type.Optional(
    Type.String({
      description:
        'the folder of a ComfyUI with its main.py: versions whose folder has a ComfyUI workflow are executed by it, each with its own custom nodes and models',
    }),
  ),
  EXECUTOR_COMFYUI_PYTHON: Type.Optional(
    Type.String({
      description:
        'the Python that has the packages of the ComfyUI of EXECUTOR_COMFYUI_FOLDER; without it that of a folder venv or .venv in it',
    }),
  ),
  EXECUTOR_COMFYUI_SILENCE_S: COMFYUI_SILENCE_S,
  EXECUTOR_WHEEL_HOUSE: Type.Optional(
    Type.String({
      description:
        'a folder with wheels, in which packages of Python are looked for too; with the index none no network is needed',
    }),
  ),
};

/** The code that comes with versions. */
export const codeRunnerType: RunnerType<typeof settings> = {
  kind: 'code',
  settings,
  configure: async ({
    EXECUTOR_CODE,
    EXECUTOR_CODE_BYTES,
    EXECUTOR_UV: uv = null,
    EXECUTOR_PYTHON_INDEX: index = null,
    EXECUTOR_WHEEL_HOUSE: wheelHouse = null,
    EXECUTOR_COMFYUI_FOLDER: comfyuiFolder = null,
    EXECUTOR_COMFYUI_PYTHON: comfyuiPython = null,
    EXECUTOR_COMFYUI_SILENCE_S,
  }) => {
    const accepted = acceptedBy(EXECUTOR_CODE);
    const comfyui = await readComfyui(comfyuiFolder, comfyuiPython);
    const problems = [
      ...(accepted === 'invalid' ? [NO_ORGANISATIONS(EXECUTOR_CODE)] : []),
      ...(uv === null || isAbsolute(uv) ? [] : [wrong('EXECUTOR_UV', uv, 'an absolute path')]),
      ...(index === null || index === 'none' || isHttp(index)
        ? []
        : [wrong('EXECUTOR_PYTHON_INDEX', index, 'an http or https URL, or none')]),
      ...(wheelHouse === null || isFolder(wheelHouse)
        ? []
        : [wrong('EXECUTOR_WHEEL_HOUSE', wheelHouse, 'the absolute path of a folder that is there')]),
      ...(comfyui !== null && 'variable' in comfyui ? [comfyui] : []),
    ];
    if (problems.length > 0 || accepted === 'invalid' || (comfyui !== null && 'variable' in comfyui))
      return { problems };
    const kind = runnerKindOf({ kind: 'code' });
    const programs = [
      kind.capability({ kind: 'code' }),
      ...(comfyui === null ? [] : [kind.capability({ kind: 'code', server: 'comfyui' })]),
    ];
    return {
      kind: 'code',
      capabilities:
        accepted === 'none'
          ? {}
          : { programs, dedicated: dedicatedOf(programs.map((each) => [each, accepted])) },
      entries: [],
      open: (host) => ({
        ...(accepted === 'none'
          ? { run: () => Promise.resolve({ outcome: 'not_runnable' as const, why: ACCEPTS_NONE }) }
          : codeRunner({
              ...host,
              folders: openPreparedFolders({ ...host, maxBytes: EXECUTOR_CODE_BYTES }),
              environments: { uv, index, wheelHouse },
              comfyui,
              silenceMs: EXECUTOR_COMFYUI_SILENCE_S * 1_000,
            })),
        outputId: (choice) => choice.kind,
      }),
    };
  },
};

/** Null without one. */
const readComfyui = async (
  folder: string | null,
  named: string | null,
): Promise<ComfyuiInstallation | ConfigProblem | null> => {
  const [FOLDER, PYTHON] = ['EXECUTOR_COMFYUI_FOLDER', 'EXECUTOR_COMFYUI_PYTHON'] as const;
  if (folder === null)
    return named === null
      ? null
      : wrong(PYTHON, named, `left out, or ${FOLDER} beside it, which names the ComfyUI`);
  if (!isFolder(folder) || !existsSync(join(folder, 'main.py')))
    return wrong(FOLDER, folder, 'the absolute path of a folder with the main.py of ComfyUI');
  const own = ['venv', '.venv']
    .map((each) => join(folder, each, 'bin/python'))
    .find((each) => existsSync(each));
  const python = named ?? own;
  if (python === undefined)
    return {
      variable: PYTHON,
      wrong: 'is not set, and the folder of ComfyUI has no venv',
      right: 'the path of the Python that has its packages',
    };
  if (!isAbsolute(python)) return wrong(PYTHON, python, 'an absolute path');
  const known = await askComfyuiPython(python);
  if (typeof known === 'string')
    return {
      variable: PYTHON,
      wrong: `: ${known}`,
      right: 'the path of the Python that has the packages of ComfyUI',
    };
  return { folder, python, sites: known.sites };
};

const ACCEPTS_NONE = 'The executor runs no code of versions: EXECUTOR_CODE is none.';

/** Null for all. */
const acceptedBy = (setting: string): Organisations | 'none' | 'invalid' => {
  if (setting === 'none') return 'none';
  if (setting === 'all') return null;
  const organisations = setting.split(',').map((id) => id.trim());
  const read = readOrganisations({ organisations });
  return typeof read === 'string' || read?.length === 0 ? 'invalid' : read;
};

const NO_ORGANISATIONS = (setting: string): ConfigProblem =>
  wrong('EXECUTOR_CODE', setting, 'none, all, or ids of organisations, separated by commas');

const wrong = (variable: string, value: string, right: string): ConfigProblem => ({
  variable,
  wrong: `= ${JSON.stringify(value)} cannot be used`,
  right,
});

const isHttp = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

const isFolder = (path: string): boolean =>
  isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
