import { seconds } from '@runledger/service-kit/config/config-schemas';
import { Type } from 'typebox';
import type { RunnerType } from '../../runners/runner-type.ts';
import { comfyuiRunner } from './comfyui-runner.ts';
import { openComfyServer } from './server/comfy-server.ts';
import { readServers } from './server/server-list.ts';

const settings = {
  EXECUTOR_COMFYUI: Type.String({
    default: '[]',
    description:
      'the ComfyUI server of each slot as JSON: [{"url", "command"?, "args"?, "env"?, "cwd"?}, …]; with a command the executor starts it',
  }),
  EXECUTOR_COMFYUI_START_TIMEOUT_S: seconds({
    default: 300,
    minimum: 1,
    maximum: 86_400,
    description: 'how long a ComfyUI server may not answer, after its start or later',
  }),
  EXECUTOR_COMFYUI_SILENCE_S: seconds({
    default: 900,
    minimum: 1,
    maximum: 86_400,
    description:
      'how long a ComfyUI server that executes a run may give no sign of it, such as a step; then it counts as dead',
  }),
};

/** The ComfyUI servers of this executor, one for each slot. No record of a tenant names their addresses. */
export const comfyuiRunnerType: RunnerType<typeof settings> = {
  kind: 'comfyui',
  settings,
  configure: async (
    { EXECUTOR_COMFYUI, EXECUTOR_COMFYUI_START_TIMEOUT_S, EXECUTOR_COMFYUI_SILENCE_S },
    { PATH = '', slots },
  ) => {
    const read = await readServers(EXECUTOR_COMFYUI, PATH, slots.length);
    if (!read.ok) return { problems: read.problems };
    const { servers } = read;
    const startTimeoutMs = EXECUTOR_COMFYUI_START_TIMEOUT_S * 1_000;
    return {
      kind: 'comfyui',
      capabilities: { programs: servers.length > 0 ? ['runner:comfyui'] : [] },
      entries: servers.flatMap(({ command }, index) =>
        command === null ? [] : [{ name: `the ComfyUI server ${index}`, command, organisations: null }],
      ),
      open: ({ executorName, residents, slots: open, cancelGraceMs, log }) => ({
        ...comfyuiRunner({
          executorName,
          servers: new Map(
            open.flatMap((slot, index) => {
              const entry = servers[index];
              return entry
                ? [[slot.index, openComfyServer(entry, slot, residents, startTimeoutMs)] as const]
                : [];
            }),
          ),
          limits: {
            cancelGraceMs,
            silenceMs: EXECUTOR_COMFYUI_SILENCE_S * 1_000,
            unreachableMs: startTimeoutMs,
          },
          log,
        }),
        outputId: () => 'comfyui',
      }),
    };
  },
};
