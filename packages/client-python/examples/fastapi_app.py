"""
A service of your own in front of Runledger: it queues runs for its users, streams their progress to browsers, and takes the
notifications of their ends.

    export RUNLEDGER_URL=http://127.0.0.1:8080/api RUNLEDGER_API_KEY=rl_… RUNLEDGER_WEBHOOK_SECRET=whsec_…
    export DEPLOYMENT=… PUBLIC_URL=http://127.0.0.1:8000
    uvicorn fastapi_app:app
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import StreamingResponse

from runledger import ApiError, AsyncRunledger, RunledgerError, WebhookInvalid, verify_webhook

#: What is known of the runs of our users. A real service has a database.
ends: dict[str, str] = {}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncRunledger() as client:
        app.state.runledger = client
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/pictures")
async def draw(request: Request) -> dict[str, str]:
    """The body is the inputs of the run."""
    client: AsyncRunledger = request.app.state.runledger
    try:
        queued = await client.runs.queue(
            os.environ["DEPLOYMENT"], await request.json(), webhook=f"{os.environ['PUBLIC_URL']}/runledger"
        )
    except ApiError as error:
        # What our user sent wrong is theirs to know; what is wrong between the two services is not.
        raise HTTPException(error.status if error.status == 422 else 503, error.detail) from error
    return {"id": queued["run_id"]}


@app.get("/pictures/{run_id}/progress")
async def progress(run_id: str, request: Request) -> StreamingResponse:
    """Server-sent events for a browser, which never sees our API key."""
    client: AsyncRunledger = request.app.state.runledger

    async def events() -> AsyncIterator[str]:
        try:
            async for event in client.subscribe(run_id):
                shown = {"progress": event.data["progress"], "step": event.data["live_status"]}
                yield f"data: {json.dumps(shown)}\n\n"
        except RunledgerError:
            # The browser connects again by itself.
            return

    return StreamingResponse(events(), media_type="text/event-stream")


@app.post("/runledger")
async def notified(request: Request) -> Response:
    """The webhook. A notification may come more than once, so taking it twice must be harmless."""
    try:
        run = verify_webhook(await request.body(), request.headers, os.environ["RUNLEDGER_WEBHOOK_SECRET"])
    except WebhookInvalid:
        return Response(status_code=400)
    if run["finished"]:
        ends[run["run_id"]] = run["status"]
    return Response(status_code=204)


@app.get("/pictures/{run_id}")
async def picture(run_id: str) -> dict[str, str]:
    return {"status": ends.get(run_id, "not yet ended")}
