import type { Run, Schemas } from '../api/schemas.ts';
import type { ReactNode } from 'react';
import './outputs.css';

type MediaItem = Schemas['MediaItem'];

/** What the run has produced: pictures side by side, sound and video to play, texts to read, other files to download. */
export const Outputs = ({ run }: { readonly run: Run }): ReactNode => {
  const values = run.outputs.flatMap(({ id, data: { json = [], ...kinds } }) => {
    const shown = Object.entries({ ...kinds, json: json.map((value) => JSON.stringify(value, null, 2)) });
    return shown.flatMap(([kind, items]) =>
      items.map((item, index) => ({ key: `${id} ${kind} ${index}`, item })),
    );
  });
  return (
    <section className="panel" aria-label="Outputs">
      <h2>Outputs</h2>
      {values.length === 0 && (
        <p className="quiet">
          {run.missing_members.length > 0
            ? 'They are not kept any more.'
            : run.finished
              ? 'None.'
              : 'None yet.'}
        </p>
      )}
      <div className="outputs">
        {values.map(({ key, item }) =>
          typeof item === 'string' ? <pre key={key}>{item}</pre> : <Media key={key} item={item} />,
        )}
      </div>
    </section>
  );
};

const Media = ({ item }: { readonly item: MediaItem }): ReactNode => {
  const source = onThisHost(item.url);
  return (
    <figure>
      <Player item={item} source={source} />
      <figcaption>
        <a href={source} download={item.filename}>
          {item.filename}
        </a>{' '}
        <span className="quiet">{item.content_type}</span>
      </figcaption>
    </figure>
  );
};

const Player = ({ item, source }: { readonly item: MediaItem; readonly source: string }): ReactNode => {
  const kind = item.content_type?.split('/')[0];
  if (kind === 'image') return <img src={source} alt={item.filename} loading="lazy" />;
  if (kind === 'video') return <video src={source} controls preload="metadata" aria-label={item.filename} />;
  if (kind === 'audio') return <audio src={source} controls preload="metadata" aria-label={item.filename} />;
  return null;
};

/** The same file under the name by which the reader reached the console: the policy of the page permits no other host. */
const onThisHost = (address: string): string => {
  const { pathname, search } = new URL(address, location.href);
  return pathname + search;
};
