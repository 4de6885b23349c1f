import type { LogItem, Run } from '../../api/schemas.ts';
import { useEffect, useRef, type ReactNode } from 'react';
import { API } from '../../api/client.ts';
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
        <a href={`${API}/run/${run.id}/logs`} download={`${run.id}.jsonl`}>
          Download
        </a>
      </div>
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
