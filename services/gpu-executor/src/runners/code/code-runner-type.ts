import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { runnerKindOf } from '@runledger/contracts/catalogue/runners';
import type { ConfigProblem } from '@runledger/service-kit/config';
import { Type } from 'typebox';
import { openPreparedFolders } from '../../code/prepared-folders.ts';
import { dedicatedOf, readOrganisations, type Organisations } from '../operator-command.ts';
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
  }) => {
    const accepted = acceptedBy(EXECUTOR_CODE);
    const problems = [
      ...(accepted === 'invalid' ? [NO_ORGANISATIONS(EXECUTOR_CODE)] : []),
      ...(uv === null || isAbsolute(uv) ? [] : [wrong('EXECUTOR_UV', uv, 'an absolute path')]),
      ...(index === null || index === 'none' || isHttp(index)
        ? []
        : [wrong('EXECUTOR_PYTHON_INDEX', index, 'an http or https URL, or none')]),
      ...(wheelHouse === null || isFolder(wheelHouse)
        ? []
        : [wrong('EXECUTOR_WHEEL_HOUSE', wheelHouse, 'the absolute path of a folder that is there')]),
    ];
    if (problems.length > 0 || accepted === 'invalid') return { problems };
    const capability = runnerKindOf({ kind: 'code' }).capability({ kind: 'code' });
    return {
      kind: 'code',
      capabilities:
        accepted === 'none'
          ? {}
          : { programs: [capability], dedicated: dedicatedOf([[capability, accepted]]) },
      entries: [],
      open: (host) => ({
        ...(accepted === 'none'
          ? { run: () => Promise.resolve({ outcome: 'not_runnable' as const, why: ACCEPTS_NONE }) }
          : codeRunner({
              ...host,
              folders: openPreparedFolders({ ...host, maxBytes: EXECUTOR_CODE_BYTES }),
              environments: { uv, index, wheelHouse },
            })),
        outputId: (choice) => choice.kind,
      }),
    };
  },
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
