import type { LogItem, Run } from '../api/schemas.ts';
import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import { useEffect, useRef, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { Problem } from '../ui/problem.tsx';
import { saveFile } from './save-file.ts';
import { useLogs } from './use-logs.ts';
import './logs.css';

/** What the attempts have written, live while the run goes on. `until`: without what they wrote after this time. */
export const Logs = ({
  run,
  until,
}: {
  readonly run: Run;
  readonly until?: string | undefined;
}): ReactNode => {
  const { items: all, isCut, isLive } = useLogs(run.id);
  const download = useDownload();
  const items = until === undefined ? all : all.filter((item) => 'notice' in item || item.at <= until);
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [items]);
  return (
    <section className="panel" aria-label="Logs">
      <div className="row apart">
        <h2>Logs {isLive && !run.finished && <span className="quiet">(live)</span>}</h2>
        <button type="button" disabled={download.isPending} onClick={() => download.mutate(run.id)}>
          Download
        </button>
      </div>
      {download.error && <Problem error={download.error} />}
      {isCut && <p className="quiet">These are the last lines. The download has all that is kept.</p>}
      {items.length === 0 ? (
        <p className="quiet">Nothing was written{run.finished ? '' : ' yet'}.</p>
      ) : (
        <div
          className="log"
          ref={box}
          tabIndex={0}
          role="log"
          aria-label="Lines"
          aria-live="off"
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
            follows.current = scrollTop + clientHeight >= scrollHeight - 20;
          }}
        >
          {items.map((item, index) => (
            <Line item={item} key={index} />
          ))}
        </div>
      )}
    </section>
  );
};

/** The whole log, as JSON lines. A link would not send the session. */
const useDownload = (): UseMutationResult<void, Error, string> =>
  useMutation({
    mutationFn: async (run_id) => {
      const params = { path: { run_id } };
      const content = await answered(api.GET('/run/{run_id}/logs', { params, parseAs: 'blob' }));
      saveFile(content, `${run_id}.jsonl`);
    },
  });

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

const Line = ({ item }: { readonly item: LogItem }): ReactNode => {
  if ('line' in item)
    return (
      <div className={item.stream === 'stderr' ? 'stderr' : undefined}>
        <span className="quiet">
          {clock.format(new Date(item.at))} {item.attempt}
        </span>{' '}
        {item.line}
        {item.truncated && <span className="quiet"> (cut)</span>}
      </div>
    );
  return (
    <div className="quiet">
      {'cut' in item ? `… ${item.cut.lines} lines are missing here …` : item.notice}
    </div>
  );
};
