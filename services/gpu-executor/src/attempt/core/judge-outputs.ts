import type { IfNoOutput } from '@runledger/contracts/warnings/run-warning';
import { errorOf } from '@runledger/contracts/events/run-error';
import type { RunResult } from '../../runner/runner.ts';

/** What a result becomes by the setting of its deployment, if it has no output, or a part of the workflow made none. */
export const judgeOutputs = (result: RunResult, ifNoOutput: IfNoOutput = 'warn'): RunResult => {
  if (result.outcome !== 'succeeded' || ifNoOutput === 'warn') return result;
  const { warnings = [], ...rest } = result;
  const missing = warnings.filter(({ kind }) => kind === 'no_output');
  if (ifNoOutput === 'ignore') {
    const others = warnings.filter(({ kind }) => kind !== 'no_output');
    return others.length === 0 ? rest : { ...rest, warnings: others };
  }
  const [first] = missing;
  if (first === undefined && hasOutputs(result)) return result;
  const message = `${first?.message ?? 'The run made no output.'} ${SETTING}`;
  const node = first?.node === undefined ? {} : { node: first.node };
  return { outcome: 'failed', error: errorOf('no_output', message, node), files: result.files };
};

const SETTING = 'The deployment has if_no_output set to error.';

const hasOutputs = ({
  data,
  nodes = [],
  files,
}: Extract<RunResult, { readonly outcome: 'succeeded' }>): boolean =>
  files.length > 0 || [data, ...nodes.map((node) => node.data)].some((each) => Object.keys(each).length > 0);
