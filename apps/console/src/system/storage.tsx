import type { ReactNode } from 'react';
import type { Schemas } from '../api/schemas.ts';
import { FillBar } from '../ui/fill-bar.tsx';
import { List } from '../ui/list.tsx';
import { bytes, seconds } from '../ui/words.ts';

/** What the streams hold, against what they may. */
export const Storage = ({ system }: { readonly system: Schemas['System'] }): ReactNode => (
  <section className="stack">
    <h2>Storage of the log</h2>
    <p>
      {system.storage === null ? (
        'The broker does not respond.'
      ) : (
        <>
          All copies of all streams:{' '}
          <FillBar used={system.storage.used_bytes} limit={system.storage.limit_bytes} words={bytes} />
        </>
      )}
    </p>
    <List
      what="streams"
      columns={['Name', 'Kind', 'Messages', 'Size', 'Expire after', 'Copies', 'Leader']}
      empty="No stream responded."
      isPending={false}
      error={null}
      rows={system.streams.map((stream) => (
        <StreamRow key={stream.name} stream={stream} />
      ))}
    />
  </section>
);

const StreamRow = ({ stream }: { readonly stream: Schemas['StreamState'] }): ReactNode => (
  <tr>
    <th scope="row">{stream.name}</th>
    <td>{stream.kind}</td>
    <td>{stream.messages.toLocaleString('en')}</td>
    <td>
      <FillBar used={stream.bytes} limit={stream.max_bytes} words={bytes} />
    </td>
    <td>{stream.max_age_s === null ? 'never' : seconds(stream.max_age_s)}</td>
    <td>
      {stream.current_copies === stream.copies ? (
        stream.copies
      ) : (
        <span className="status failed">
          {stream.current_copies} of {stream.copies} have everything
        </span>
      )}
    </td>
    <td className="mono">{stream.leader}</td>
  </tr>
);
