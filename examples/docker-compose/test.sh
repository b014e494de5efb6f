#!/bin/sh
# Ends as the application does, and removes everything.
if docker compose version >/dev/null 2>&1; then compose='docker compose'; else compose=docker-compose; fi
trap '$compose down --volumes' EXIT
$compose up --exit-code-from app
