import { COMFYUI_FOLDER as COMFYUI } from '@runledger/testing/stand-ins/comfyui';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { findPython } from '../../src/code/python.ts';
import { codeRunnerType } from '../../src/runners/code/code-runner-type.ts';
import { settingsOf } from '../../src/runners/runner-registry.ts';
import { ORG_ID, OTHER_ORG_ID } from '../fixtures/isolations.ts';

const found = await findPython(undefined, process.env['PATH'] ?? '');
if (found === null || typeof found === 'string') throw new Error('The tests need python3.');
const PYTHON = found.base;

type Settings = Parameters<typeof codeRunnerType.configure>[0];

const configure = (
  settings: Readonly<Record<string, unknown>>,
): ReturnType<typeof codeRunnerType.configure> => {
  const schema = Type.Object(settingsOf([codeRunnerType]));
  return codeRunnerType.configure(Value.Default(schema, { ...settings }) as Settings, { slots: [] });
};

describe('whose code an executor runs', () => {
  it.each([
    [{}, {}],
    [{ EXECUTOR_CODE: 'all' }, { programs: ['runner:code'], dedicated: {} }],
    [
      { EXECUTOR_CODE: `${ORG_ID}, ${OTHER_ORG_ID}` },
      { programs: ['runner:code'], dedicated: { 'runner:code': [ORG_ID, OTHER_ORG_ID] } },
    ],
    [
      { EXECUTOR_CODE: ORG_ID, EXECUTOR_COMFYUI_FOLDER: COMFYUI, EXECUTOR_COMFYUI_PYTHON: PYTHON },
      {
        programs: ['runner:code', 'runner:code:comfyui'],
        dedicated: { 'runner:code': [ORG_ID], 'runner:code:comfyui': [ORG_ID] },
      },
    ],
    [{ EXECUTOR_COMFYUI_FOLDER: COMFYUI, EXECUTOR_COMFYUI_PYTHON: PYTHON }, {}],
  ])('%j offers %j', async (settings, capabilities) => {
    expect(await configure(settings)).toMatchObject({ capabilities });
  });

  it.each([
    [{ EXECUTOR_CODE: 'everybody' }, 'EXECUTOR_CODE'],
    [{ EXECUTOR_CODE: '' }, 'EXECUTOR_CODE'],
    [{ EXECUTOR_UV: 'uv' }, 'EXECUTOR_UV'],
    [{ EXECUTOR_PYTHON_INDEX: 'pypi' }, 'EXECUTOR_PYTHON_INDEX'],
    [{ EXECUTOR_WHEEL_HOUSE: '/no/such/folder' }, 'EXECUTOR_WHEEL_HOUSE'],
    [{ EXECUTOR_COMFYUI_FOLDER: import.meta.dirname }, 'EXECUTOR_COMFYUI_FOLDER'],
    [{ EXECUTOR_COMFYUI_FOLDER: 'ComfyUI' }, 'EXECUTOR_COMFYUI_FOLDER'],
    [{ EXECUTOR_COMFYUI_FOLDER: COMFYUI }, 'EXECUTOR_COMFYUI_PYTHON'],
    [{ EXECUTOR_COMFYUI_PYTHON: PYTHON }, 'EXECUTOR_COMFYUI_PYTHON'],
    [{ EXECUTOR_COMFYUI_FOLDER: COMFYUI, EXECUTOR_COMFYUI_PYTHON: '/bin/false' }, 'EXECUTOR_COMFYUI_PYTHON'],
  ])('%j is refused', async (settings, variable) => {
    expect(await configure(settings)).toMatchObject({ problems: [{ variable }] });
  });
});
