import { comfyuiRunnerType } from '../../../src/runners/comfyui/comfyui-runner.ts';
import { openConfigured, type ConfiguredRun, type ConfiguredRuns } from '../run-configured.ts';

export interface ComfyOptions {
  /** As in `EXECUTOR_COMFYUI`; the number of slots is that of the servers. */
  readonly servers: readonly object[];
  readonly graceMs?: number;
  readonly silenceS?: number;
  readonly startTimeoutS?: number;
}

export type ComfyRun = ConfiguredRun;
export type ComfyRuns = ConfiguredRuns;

/** The runner as an executor with these settings has it. */
export const openComfyui = async (options: ComfyOptions): Promise<ComfyRuns> => {
  const { servers, graceMs = 60_000, silenceS = 60, startTimeoutS = 30 } = options;
  const settings = {
    EXECUTOR_COMFYUI: JSON.stringify(servers),
    EXECUTOR_COMFYUI_START_TIMEOUT_S: startTimeoutS,
    EXECUTOR_COMFYUI_SILENCE_S: silenceS,
  };
  return openConfigured({
    slots: servers.length,
    graceMs,
    choice: { kind: 'comfyui' },
    configure: (host) => comfyuiRunnerType.configure(settings, host),
  });
};
